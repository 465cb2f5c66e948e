import { expect, test } from 'vitest';
import { checkPolicy, type Policy } from '../../src/calls/policy.js';
import type { Principal } from '../../src/calls/principal.js';
import { Refusal } from '../../src/results/refusal.js';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

const everything: Policy = { readOnly: false, tools: undefined };
const bearer = (...scopes: string[]): Principal => ({ name: 'a', scopes });

test.each([
  ['everything is allowed', everything, restoreInstance, undefined, undefined, true],
  ['read-only: a read', { ...everything, readOnly: true }, listParts, undefined, undefined, true],
  ['read-only: a change', { ...everything, readOnly: true }, restoreInstance, undefined, undefined, false],
  ['a tool that is named', { ...everything, tools: ['list_parts'] }, listParts, undefined, undefined, true],
  ['a tool that is not', { ...everything, tools: ['list_parts'] }, restoreInstance, undefined, undefined, false],
  ['a region of the list', { ...everything, regions: ['a', 'b'] }, listParts, 'b', undefined, true],
  ['another region', { ...everything, regions: ['a', 'b'] }, listParts, 'c', undefined, false],
  ['any region without a list', everything, listParts, 'c', undefined, true],
  ['reading with its scope', everything, listParts, undefined, bearer('cloudops:read'), true],
  ['reading with the scope to write', everything, listParts, undefined, bearer('cloudops:write'), false],
  ['changing with its scope', everything, restoreInstance, undefined, bearer('cloudops:write'), true],
  ['changing with the scope to read', everything, restoreInstance, undefined, bearer('cloudops:read'), false],
  ['changing with the scope to audit', everything, restoreInstance, undefined, bearer('cloudops:audit'), false],
])('%s', (_what, policy, operation, region, principal, allowed) => {
  const check = () => checkPolicy(policy, operation, region, principal);
  if (allowed) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ constructor: Refusal, code: 'NotAllowed' }));
});

test('a tool that the policy excludes is refused when it is called, and nothing is sent', async () => {
  const server = await startServer((_request, response) => response.end('{}'));
  const caller = testCaller(server.origin, { policy: { readOnly: true, tools: undefined } });
  const result = await caller.call(provisionKubeResourceGroup, { resourceGroupName: 'g' }, { signal: never });
  expect(result).toMatchObject({ ok: false, failure: { code: 'NotAllowed' } });
  expect(server.requests).toEqual([]);
  await caller.close();
  await server.close();
});
