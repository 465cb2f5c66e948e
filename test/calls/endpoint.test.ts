import { expect, test } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

/** An endpoint with a path is one of several behind one address. No object key leads out of it. */

const answer = '<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>';

async function list(object: string, prefix: string) {
  const server = await startServer((_request, response) => response.end(answer));
  const endpoints = { storage: server.origin + prefix, catalog: undefined, devops: undefined };
  const caller = testCaller(server.origin, { cloud: { endpoints } });
  const result = await caller.call(listParts, { bucket: 'b', object, uploadId: 'u' }, { signal: never });
  await caller.close();
  await server.close();
  return { code: result.ok ? 'ok' : result.failure.code, paths: server.requests.map(({ url }) => url.split('?')[0]) };
}

test.each(['..', '../x', 'x/..', 'a/../../b', '.', './x', 'a/./b', '/..', 'a/..//b'])(
  'the key %s is refused below a path, where a server that resolves it would leave the path',
  async (object) => {
    expect(await list(object, '/tenant')).toEqual({ code: 'InvalidArguments', paths: [] });
    expect(await list(object, '/tenant/')).toEqual({ code: 'InvalidArguments', paths: [] });
    expect(await list(object, '')).toMatchObject({ code: 'ok', paths: [`/b/${object}`] });
  },
);

test.each([
  ['...', '...'],
  ['a..b', 'a..b'],
  ['..a', '..a'],
  ['%2e%2e', '%252e%252e'],
  ['..\\x', '..%5Cx'],
  ['a//b', 'a//b'],
])('the key %s has no dot segment and is sent as it is', async (object, sent) => {
  expect(await list(object, '/tenant')).toEqual({ code: 'ok', paths: [`/tenant/b/${sent}`] });
});
