import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readScope, writeScope } from '../../src/calls/policy.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { type NamedAccount, namedAccounts } from '../support/accounts.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** A call is for one account, which a caller names and may use, and it acts with the keys and rules of that one alone. */

const restore = { ...restoreInstance.example };
const parts = { ...listParts.example };

let cloud: CapturingServer;
beforeEach(async () => {
  cloud = await startServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"instance":{"id":"i-2"}}');
  });
});
afterEach(() => cloud.close());

const signedBy = () => cloud.requests.map(({ headers }) => /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1]);
const both: readonly NamedAccount[] = [{ name: 'prod', description: 'live customers' }, { name: 'staging' }];
const callerOf = (...args: Parameters<typeof namedAccounts> extends [string, ...infer Rest] ? Rest : never) =>
  testCaller(cloud.origin, { accounts: namedAccounts(cloud.origin, ...args), store: memoryStore() });
const principal = (...accounts: string[]) => ({
  name: 'alice',
  scopes: [readScope, writeScope, ...accounts.map((name) => `cloudops:account:${name}`)],
});

test.each(['prod', 'staging'])('a call of %s is signed with its key and says so', async (account) => {
  const { call, close, logged } = callerOf(both);
  const result = await call(restoreInstance, { ...restore, account }, { signal: never });
  expect(result).toMatchObject({
    ok: true,
    structured: { account },
    text: expect.stringContaining(`account: ${account}`),
  });
  expect(signedBy()).toEqual([`AK${account.toUpperCase()}`]);
  expect(logged).toContainEqual(
    expect.objectContaining({ event: 'call', fields: expect.objectContaining({ account }) }),
  );
  await close();
});

test('the account is the first thing that a plan says about where, and is in the journal', async () => {
  const store = memoryStore();
  const accounts = namedAccounts(cloud.origin, both);
  const { call, close } = testCaller(cloud.origin, { accounts, store });
  const plan = await call(restoreInstance, { ...restore, account: 'prod', planOnly: true }, { signal: never });
  const where = 'structured' in plan ? plan.structured.plan?.where : undefined;
  expect(where?.[0]?.place.text).toBe('account prod');
  await call(restoreInstance, { ...restore, account: 'prod' }, { signal: never });
  expect(await store.newest({ limit: 99 })).toMatchObject([
    { account: 'prod', keyId: 'AKPROD', ending: { keyId: 'AKPROD' } },
  ]);
  await close();
});

test.each([
  ['a default that the call leaves out', both, {}, 'account prod (default)'],
  ['a default that the call names', both, { account: 'prod' }, 'account prod'],
  ['the only account', both.slice(0, 1), {}, 'account prod'],
])('a plan says whether its account was chosen: %s', async (_what, accounts, given, where) => {
  const { call, close } = callerOf(accounts, 'prod');
  const plan = await call(restoreInstance, { ...restore, ...given, planOnly: true }, { signal: never });
  expect(plan.text).toMatch(new RegExp(`^Where: ${where.replace(/[()]/g, '\\$&')}, region `, 'm'));
  await close();
});

test('the same change in another account is another change', async () => {
  const { call, close } = callerOf(both);
  for (const account of ['prod', 'staging'])
    expect(await call(restoreInstance, { ...restore, account }, { signal: never })).toMatchObject({ ok: true });
  const again = await call(restoreInstance, { ...restore, account: 'prod' }, { signal: never });
  expect(again).toMatchObject({ failure: { code: 'Repeated' } });
  await close();
});

describe('a call that names no account', () => {
  const readOnly = { readOnly: true, tools: undefined };
  test.each<readonly [string, readonly NamedAccount[], string | undefined, string | undefined]>([
    ['of several is refused', both, undefined, undefined],
    ['is for the default one', both, 'staging', 'AKSTAGING'],
    [
      'is for the only one that allows it',
      [{ name: 'prod', policy: readOnly }, { name: 'staging' }],
      undefined,
      'AKSTAGING',
    ],
    [
      'is for none if several others allow it',
      [{ name: 'prod', policy: readOnly }, { name: 'staging' }, { name: 'test' }],
      'prod',
      undefined,
    ],
  ])('%s', async (_what, named, byDefault, key) => {
    const { call, close } = callerOf(named, byDefault);
    const result = await call(restoreInstance, restore, { signal: never });
    if (key === undefined)
      expect(result).toMatchObject({
        failure: {
          code: 'InvalidArguments',
          problems: [expect.stringMatching(/^account: /)],
          next: { who: 'user', action: 'ask' },
        },
      });
    expect(signedBy()).toEqual(key === undefined ? [] : [key]);
    await close();
  });
});

test.each([
  ['does not exist', 'other', undefined],
  ['is not the caller’s', 'prod', principal('staging', 'test')],
  ['is no name', { prod: true }, undefined],
])('an account that %s is refused, with those that the caller has', async (_what, account, who) => {
  const { call, close } = callerOf([...both, { name: 'test' }]);
  const result = await call(restoreInstance, { ...restore, account }, { signal: never, principal: who });
  expect(result).toMatchObject({ failure: { code: 'InvalidArguments' } });
  if (who !== undefined) {
    const unknown = await call(restoreInstance, { ...restore, account: 'none' }, { signal: never, principal: who });
    expect(JSON.stringify(unknown).replaceAll('none', 'prod')).toBe(JSON.stringify(result));
  }
  expect(cloud.requests).toEqual([]);
  await close();
});

test.each([
  ['is not said', {}, 'account: is required'],
  ['does not exist', { account: 'other' }, 'account: "other" is not an account'],
])('if the account %s, all that is wrong with the other arguments is told too', async (_what, account, problem) => {
  const { call, close } = callerOf(both);
  const result = await call(restoreInstance, { instanceId: 'UPPER', sever: 1, ...account }, { signal: never });
  const about = (text: string) => expect.stringContaining(text);
  expect(result).toMatchObject({
    failure: {
      code: 'InvalidArguments',
      problems: [about(problem), ...['backupId', 'instanceId', 'sever'].map(about)],
    },
  });
  await close();
});

describe('a caller uses', () => {
  test.each<readonly [string, readonly string[], string | undefined, readonly string[]]>([
    ['the default account if its scopes name none', [], 'staging', ['staging']],
    ['no account if its scopes name none and there is no default', [], undefined, []],
    ['the accounts that its scopes name, and not the default', ['prod'], 'staging', ['prod']],
    ['no account if its scopes name another server’s', ['elsewhere'], 'staging', []],
  ])('%s', async (_what, scopes, byDefault, usable) => {
    const { call, close } = callerOf(both, byDefault);
    for (const account of ['prod', 'staging']) {
      const given = { signal: never, principal: principal(...scopes) };
      const result = await call(restoreInstance, { ...restore, account }, given);
      expect(result.ok).toBe(usable.includes(account));
    }
    await close();
  });

  test('a server without names for accounts only if its scopes name none', async () => {
    const { call, close } = testCaller(cloud.origin);
    const as = (...names: string[]) =>
      call(restoreInstance, restore, { signal: never, principal: principal(...names) });
    expect(await as('prod')).toMatchObject({
      failure: { code: 'NotAllowed', problems: [expect.stringContaining('names no account of this server')] },
    });
    expect(await as()).toMatchObject({ ok: true });
    await close();
  });
});

test('rules are those of the account', async () => {
  const { call, close } = callerOf([
    { name: 'prod', confirm: 'human', policy: { readOnly: false, tools: undefined, regions: ['jp-west-1'] } },
    { name: 'staging' },
  ]);
  const asked = (args: object) => call(restoreInstance, { ...restore, ...args }, { signal: never });
  expect(await asked({ account: 'prod' })).toMatchObject({ failure: { code: 'NotAllowed' } });
  expect(await asked({ account: 'prod', region: 'jp-west-1' })).toMatchObject({ failure: { code: 'NeedsHuman' } });
  expect(await asked({ account: 'staging' })).toMatchObject({ ok: true });
  await close();
});

test('one account without a name takes no argument of that name', async () => {
  const { call, close } = testCaller(cloud.origin);
  const result = await call(listParts, { ...parts, account: 'prod' }, { signal: never });
  const told = 'account: must be left out, because this server has only one account';
  expect(result).toMatchObject({ failure: { problems: [told] } });
  await close();
});

test('a journal is shown with the accounts that its reader may use', async () => {
  const { call, close, server } = callerOf(both);
  for (const account of ['prod', 'staging']) await call(restoreInstance, { ...restore, account }, { signal: never });
  const text = await server.journal(undefined, ['staging']);
  expect(text.match(/^- /gm)).toHaveLength(1);
  expect((await server.journal(undefined, undefined)).match(/^- /gm)).toHaveLength(2);
  await close();
});

test('a plan that waits keeps the account with its arguments, so that a decision acts there', async () => {
  const accounts = namedAccounts(cloud.origin, [{ name: 'prod', confirm: 'human' }]);
  const { call, store, close } = testCaller(cloud.origin, { accounts });
  await call(restoreInstance, { ...restore, account: 'prod' }, { signal: never, client: { views: true } });
  expect((await store.waiting({})).map(({ args }) => args)).toEqual([{ ...restore, account: 'prod' }]);
  await close();
});
