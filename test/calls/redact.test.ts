import { afterEach, expect, test } from 'vitest';
import { redactData, redactor } from '../../src/calls/redact.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { never, testCaller, testKeys } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

const key = JSON.stringify({
  type: 'service_account',
  private_key: 'MARKER-line1\nMARKER-line2',
  client_email: 'a@example.com',
});

test('a secret is taken out as it is, as JSON and URLs write it, and in its parts', () => {
  const redact = redactor([key, undefined, 'short']);
  expect(redact(`x ${key} y`)).toBe('x [secret] y');
  expect(redact(JSON.stringify({ given: key }))).toBe('{"given":"[secret]"}');
  expect(redact('MARKER-line1\nMARKER-line2')).toBe('[secret]');
  expect(redact(JSON.stringify('MARKER-line1\nMARKER-line2'))).toBe('"[secret]"');
  expect(redactor(['secret/with+signs='])('?key=secret%2Fwith%2Bsigns%3D')).toBe('?key=[secret]');
  expect(redact('a short word of a@example.com')).toBe('a short word of a@example.com');
  expect(redactData({ [key]: [{ deep: key }], count: 1 }, redact)).toEqual({
    '[secret]': [{ deep: '[secret]' }],
    count: 1,
  });
});

test('data without a secret is not copied', () => {
  const data = { list: [{ a: 'b' }], nothing: null };
  expect(redactData(data, redactor([key]))).toBe(data);
});

let server: CapturingServer | undefined;
afterEach(() => server?.close());

test.each([200, 400])('what a service repeats of a secret goes no further (status %i)', async (status) => {
  server = await startServer((request, response) => {
    const echo = `${request.body} ${testKeys.secretAccessKey}`;
    response
      .writeHead(status)
      .end(JSON.stringify({ name: echo, code: 'Echo', message: echo, configuration: { kube: { [key]: key } } }));
  });
  const caller = testCaller(server.origin);
  const args = { resourceGroupName: 'g', externalCloudConfig: { serviceAccountKey: key } };
  const result = await caller.call(provisionKubeResourceGroup, args, { signal: never });
  expect(result.ok).toBe(status === 200);
  expect(JSON.stringify([result, caller.logged])).not.toMatch(/MARKER|test\/secret/);
  await caller.close();
});

test('a tool that the policy excludes is refused when it is called', async () => {
  server = await startServer((_request, response) => response.end('{}'));
  const caller = testCaller(server.origin, { policy: { readOnly: true, tools: undefined } });
  const { text } = await caller.call(provisionKubeResourceGroup, { resourceGroupName: 'g' }, { signal: never });
  expect(text).toMatch(/code: NotAllowed/);
  expect(server.requests).toEqual([]);
  await caller.close();
});
