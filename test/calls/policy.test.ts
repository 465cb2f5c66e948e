import { expect, test } from 'vitest';
import { checkPolicy, isAllowed, type Policy } from '../../src/calls/policy.js';
import type { Principal } from '../../src/calls/principal.js';
import { Refusal } from '../../src/results/refusal.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

const everything: Policy = { readOnly: false, tools: undefined };
const extended: Operation = { ...listParts, extension: 's3' };
const refusalThatNames = (named: string) =>
  expect.objectContaining({
    constructor: Refusal,
    code: 'NotAllowed',
    problems: [expect.stringContaining(named)],
  });
const bearer = (...scopes: string[]): Principal => ({ name: 'a', scopes });

const regions = { ...everything, regions: ['jp-a', 'jp-b'] };

test.each<readonly [string, Policy, Operation, unknown, Principal | undefined]>([
  ['anything', everything, restoreInstance, undefined, undefined],
  ['read-only: a read', { ...everything, readOnly: true }, listParts, undefined, undefined],
  ['a tool that is named', { ...everything, tools: ['list_parts'] }, listParts, undefined, undefined],
  ['a region of the list', regions, listParts, 'jp-b', undefined],
  ['no region, which is the configured one', regions, listParts, undefined, undefined],
  ['any region without a list', everything, listParts, 'jp-c', undefined],
  [
    'what is beyond the reference, by its protocol',
    { ...everything, extensions: ['s3'] },
    extended,
    undefined,
    undefined,
  ],
  [
    'what is beyond the reference, by its name',
    { ...everything, tools: ['list_parts'] },
    extended,
    undefined,
    undefined,
  ],
  ['reading with its scope', everything, listParts, undefined, bearer('cloudops:read')],
  ['changing with its scope', everything, restoreInstance, undefined, bearer('cloudops:write')],
])('allowed: %s', (_what, policy, operation, region, principal) => {
  expect(() => checkPolicy(policy, operation, region, principal)).not.toThrow();
  expect(isAllowed(policy, operation, principal)).toBe(true);
});

test.each<readonly [string, Policy, Operation, Principal | undefined, string]>([
  ['read-only: a change', { ...everything, readOnly: true }, restoreInstance, undefined, 'CLOUDOPS_READ_ONLY'],
  ['a tool that is not named', { ...everything, tools: ['list_parts'] }, restoreInstance, undefined, 'CLOUDOPS_TOOLS'],
  ['what is beyond the reference', everything, extended, undefined, 'CLOUDOPS_STORAGE_HEADERS'],
  ['reading with the scope to write', everything, listParts, bearer('cloudops:write'), 'cloudops:read'],
  ['changing with the scope to read', everything, restoreInstance, bearer('cloudops:read'), 'cloudops:write'],
  ['changing with the scope to audit', everything, restoreInstance, bearer('cloudops:audit'), 'cloudops:write'],
])('not allowed: %s, and the refusal names what would allow it', (_what, policy, operation, principal, named) => {
  expect(isAllowed(policy, operation, principal)).toBe(false);
  expect(() => checkPolicy(policy, operation, undefined, principal)).toThrow(refusalThatNames(named));
});

test('not allowed: a region that is not in the list, which the refusal has', () => {
  expect(() => checkPolicy(regions, listParts, 'jp-c')).toThrow(refusalThatNames('CLOUDOPS_REGIONS: jp-a, jp-b'));
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
