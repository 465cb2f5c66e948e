import { describe, expect, test } from 'vitest';
import { allowChanges } from '../../src/calls/account.js';
import {
  checkPolicy,
  checkRegions,
  isAllowed,
  isNamedIn,
  type Policy,
  type Principal,
  visibleCaller,
} from '../../src/calls/policy.js';
import { Refusal } from '../../src/calls/refusal.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { accountsWith, never, testCaller } from '../support/caller.js';
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

test('the refusal of a region names the account, if accounts have names', () => {
  expect(() => checkRegions({ ...everything, regions: ['a'] }, 'b', {}, 'staging')).toThrow(
    refusalThatNames('region "b" is not among those of account staging: a'),
  );
});

test.each<readonly [string, Policy, Operation, Principal | undefined]>([
  ['anything', everything, restoreInstance, undefined],
  ['read-only: a read', { ...everything, readOnly: true }, listParts, undefined],
  ['a tool that is named', { ...everything, tools: ['list_parts'] }, listParts, undefined],
  ['what is beyond the reference, by its protocol', { ...everything, extensions: ['s3'] }, extended, undefined],
  ['what is beyond the reference, by its name', { ...everything, tools: ['list_parts'] }, extended, undefined],
  ['reading with its scope', everything, listParts, bearer('cloudops:read')],
  ['changing with its scope', everything, restoreInstance, bearer('cloudops:write')],
])('allowed: %s', (_what, policy, operation, principal) => {
  expect(() => checkPolicy(policy, operation, principal)).not.toThrow();
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
  expect(() => checkPolicy(policy, operation, principal)).toThrow(refusalThatNames(named));
});

test('an account that only reads is refused by its name, because no variable says so', () => {
  const check = () => checkPolicy({ ...everything, readOnly: true }, restoreInstance, undefined, 'archive');
  expect(check).toThrow(refusalThatNames('account archive only reads'));
});

test.each([
  ['a region of the list', 'b', {}, true],
  ['another region', 'c', {}, false],
  ['a zone of a region of the list', 'a', { availabilityZone: 'east-12' }, true],
  ['a zone of an unknown form', 'a', { availabilityZone: 'EAST-31' }, false],
  ['a zone of an unknown form among others', 'a', { availabilityZones: ['east-12', 'us-east-1a'] }, false],
  ['a zone of another region', 'a', { availabilityZones: ['east-12', 'jp-west-21'] }, false],
  ['the configured region', undefined, {}, true],
  ['an argument that names a region of the list', undefined, { region: 'a', zone: 'c' }, true],
  ['an argument that names another region', 'a', { region: 'c' }, false],
  ['an argument whose name only begins like that', 'a', { regionLabel: 'c' }, true],
  ['the eleventh of a list', 'a', { regions: [...Array(10).fill('a'), 'c'] }, false],
  ['a list with another region', 'a', { regions: ['a', 'c'] }, false],
  ['another region of a part', 'a', { storage: { region: 'c' } }, false],
  ['another region of an element', 'a', { pools: [{ region: 'a' }, { region: 'c' }] }, false],
  ['another region, by a name that models give it', 'a', { Copies: [{ SourceRegion: 'c' }] }, false],
  ['another zone, by such a name', 'a', { AvailabilityZones: ['west-12'] }, false],
  ['a zone of the list, by such a name', 'a', { AvailabilityZone: 'east-11' }, true],
])('regions that are allowed: %s', (_what, requested, input, allowed) => {
  const check = (regions?: string[]) => () => checkRegions({ ...everything, regions }, requested, input);
  expect(check()).not.toThrow();
  if (allowed) expect(check(['a', 'b', 'jp-east-1'])).not.toThrow();
  else expect(check(['a', 'b', 'jp-east-1'])).toThrow(refusalThatNames('CLOUDOPS_REGIONS: a, b, jp-east-1'));
});

test.each([
  ['a region', { region: 'c' }, 'region "c" is not among'],
  ['a zone', { availabilityZone: 'jp-west-21' }, 'the region of zone "jp-west-21" is not among'],
  ['a zone of an unknown form', { availabilityZone: 'E1' }, 'the region of zone "E1" is unknown, so not among'],
])('the refusal of %s says what it is', (_what, input, said) => {
  expect(() => checkRegions({ ...everything, regions: ['a'] }, 'a', input)).toThrow(
    refusalThatNames(`${said} those of CLOUDOPS_REGIONS: a`),
  );
});

test.each<readonly [string, Policy, readonly Operation[], boolean]>([
  ['reads and changes', everything, [listParts, restoreInstance], true],
  ['reads alone', everything, [listParts], false],
  ['changes, read-only', { ...everything, readOnly: true }, [listParts, restoreInstance], false],
  ['changes that are not named', { ...everything, tools: ['list_parts'] }, [listParts, restoreInstance], false],
  ['nothing', everything, [], false],
])('whether a server can make changes: one of %s', (_what, policy, operations, can) => {
  expect(allowChanges(accountsWith(policy), operations)).toBe(can);
});

test.each([
  ['the region of the request', restoreInstance, { ...restoreInstance.example, region: 'jp-west-2' }],
  ['the region of a resource group', provisionKubeResourceGroup, { resourceGroupName: 'g', regions: ['jp-west-2'] }],
])('%s is held to the list', async (_what, operation, args) => {
  const caller = testCaller('http://127.0.0.1:1', { policy: { ...everything, regions: ['jp-east-1'] } });
  const result = await caller.call(operation, { ...args, planOnly: true }, { signal: never });
  expect(result).toMatchObject({ ok: false, failure: { code: 'NotAllowed' } });
  await caller.close();
});

test.each<readonly [string, Principal | undefined, string | undefined]>([
  ['its own', bearer('cloudops:read', 'cloudops:write'), 'a'],
  ['those of all, with the scope to audit', bearer('cloudops:audit'), undefined],
  ['those of all, where callers are not told apart', undefined, undefined],
])('a caller may see in the journal: %s', (_what, principal, caller) => {
  expect(visibleCaller(principal)).toBe(caller);
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

describe('a pattern in CLOUDOPS_TOOLS', () => {
  const named = (list: string, name: string, serviceName?: string) =>
    isNamedIn([list], { name, ...(serviceName !== undefined && { serviceName }) });
  test.each([
    ['ec2:DescribeVolumes', 'ec2:DescribeVolumes', true],
    ['ec2:Describe*', 'ec2:DescribeVolumes', true],
    ['*:Describe*', 'ec2:DescribeVolumes', true],
    ['ec2:*Volume*s', 'ec2:DescribeVolumes', true],
    ['ec2:*', 'ec2:DescribeVolumes', true],
    ['ec2:Describe*', 'ec2:CreateVolume', false],
    ['ec2:Describe', 'ec2:DescribeVolumes', false],
    ['ec2:describe*', 'ec2:DescribeVolumes', false],
    ['ec2:*Volumes*Volumes', 'ec2:DescribeVolumes', false],
    ['ec:*', 'ec2:DescribeVolumes', false],
    ['ec2:Describe.olumes', 'ec2:DescribeVolumes', false],
    ['*', 'ec2:DescribeVolumes', false],
  ])('%s names %s: %s', (pattern, name, isNamed) => {
    expect(named(pattern, name)).toBe(isNamed);
  });

  test('also names the tool that is the operation', () => {
    expect(named('s3:Abort*', 'abort_multipart_upload', 's3:AbortMultipartUpload')).toBe(true);
    expect(named('abort_*', 'abort_multipart_upload', 's3:AbortMultipartUpload')).toBe(false);
  });
});
