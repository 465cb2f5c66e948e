import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readScope, writeScope } from '../../src/calls/policy.js';
import { fixedKeys } from '../../src/signing/keys.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { namedAccounts } from '../support/accounts.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** A budget ends changes, whoever agrees to them, and is told of before anybody is asked. */

const change = (instanceId: string) => ({ ...restoreInstance.example, instanceId });

let cloud: CapturingServer;
let status = 200;
beforeEach(async () => {
  status = 200;
  cloud = await startServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"instance":{"id":"i-2"}}');
  });
});
afterEach(() => cloud.close());

const hour = 3_600_000;
const budget = { mostChanges: 2, windowMs: hour };

test('changes beyond it are refused, with the time of the next, and nobody is asked', async () => {
  const { call, close } = testCaller(cloud.origin, { budget, confirm: 'ask' });
  let asked = 0;
  const elicitor = {
    isDirect: true as const,
    ask: async () => {
      asked += 1;
      return { kind: 'agreed' as const };
    },
  };
  for (const id of ['i-1', 'i-2'])
    expect(await call(restoreInstance, change(id), { signal: never, client: { elicitor } })).toMatchObject({
      ok: true,
    });
  const third = await call(restoreInstance, change('i-3'), { signal: never, client: { elicitor } });
  expect(third).toMatchObject({ failure: { code: 'BudgetSpent', mayHaveHappened: false } });
  const [, next = ''] = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/.exec(JSON.stringify(third)) ?? [];
  expect(Math.abs(Date.parse(next) - Date.now() - hour)).toBeLessThan(60_000);
  expect([asked, cloud.requests.length]).toEqual([2, 2]);
  await close();
});

test('a plan says what is left, and nothing is sent beyond it', async () => {
  const { call, close } = testCaller(cloud.origin, { budget });
  const consequences = async () => {
    const plan = await call(restoreInstance, { ...change('i-9'), planOnly: true }, { signal: never });
    return JSON.stringify('structured' in plan ? plan.structured.plan?.consequences : plan.failure);
  };
  expect(await consequences()).toContain('It takes 1 change of the 2 that are left within 1 hour');
  for (const id of ['i-1', 'i-2']) await call(restoreInstance, change(id), { signal: never });
  expect(await consequences()).toContain('It cannot be sent');
  await close();
});

test('0 shows plans and sends nothing', async () => {
  const { call, close } = testCaller(cloud.origin, { budget: { mostChanges: 0, windowMs: hour } });
  expect(await call(restoreInstance, { ...change('i-1'), planOnly: true }, { signal: never })).toMatchObject({
    ok: true,
  });
  const refused = await call(restoreInstance, change('i-1'), { signal: never });
  expect(refused).toMatchObject({
    failure: { code: 'BudgetSpent', next: { text: expect.stringContaining('planOnly') } },
  });
  expect(cloud.requests).toEqual([]);
  await close();
});

test('a journal that cannot be read allows no change, and the log has the cause', async () => {
  const gone = Object.assign(new Error('gone'), { code: 'EIO' });
  const store = { ...memoryStore(), budgetState: () => Promise.reject(gone) };
  const { call, close, logged } = testCaller(cloud.origin, { budget, store });
  expect(await call(restoreInstance, change('i-1'), { signal: never })).toMatchObject({
    failure: { code: 'JournalUnavailable' },
  });
  const cause = { tool: 'restore_instance', error: 'EIO' };
  expect(logged).toContainEqual({ level: 'error', event: 'journal', fields: cause });
  expect(cloud.requests).toEqual([]);
  await close();
});

describe('each has one of its own:', () => {
  const one = { mostChanges: 1, windowMs: hour };

  test('caller', async () => {
    const { call, close } = testCaller(cloud.origin, { budget: one });
    const as = (name: string, id: string) =>
      call(restoreInstance, change(id), { signal: never, principal: { name, scopes: [readScope, writeScope] } });
    expect([(await as('a', 'i-1')).ok, (await as('b', 'i-2')).ok, (await as('a', 'i-3')).ok]).toEqual([
      true,
      true,
      false,
    ]);
    await close();
  });

  test('account, also one with the keys and endpoints of another', async () => {
    const keys = fixedKeys({ accessKeyId: 'AK', secretAccessKey: 'a secret' });
    const named = ['prod', 'staging'].map((name) => ({ name, keys, budget: one }));
    const { call, close } = testCaller(cloud.origin, { accounts: namedAccounts(cloud.origin, named) });
    const inAccount = async (account: string) =>
      (await call(restoreInstance, { ...change('i-1'), account }, { signal: never })).ok;
    expect([await inAccount('prod'), await inAccount('staging')]).toEqual([true, true]);
    await close();
  });

  test('account, also one whose keys were replaced', async () => {
    const rotating = (name: string) => {
      let number = 0;
      const next = () => {
        number += 1;
        return { accessKeyId: `AK${number}`, secretAccessKey: 'a secret' };
      };
      return {
        name,
        budget: one,
        keys: { id: `file /${name}`, current: async () => next(), renewed: async () => undefined },
      };
    };
    const accounts = namedAccounts(cloud.origin, [rotating('prod'), rotating('staging')]);
    const { call, close } = testCaller(cloud.origin, { accounts });
    const inAccount = async (account: string, id: string) =>
      (await call(restoreInstance, { ...change(id), account }, { signal: never })).ok;
    expect([await inAccount('prod', 'i-1'), await inAccount('staging', 'i-1'), await inAccount('prod', 'i-3')]).toEqual(
      [true, true, false],
    );
    await close();
  });
});
