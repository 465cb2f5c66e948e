import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import type { Operation } from '../../src/tools/define-operation.js';
import { json } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { consentArguments } from '../../src/tools/schema/fields.js';
import { say } from '../../src/util/safe-text.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** Changes that differ only in a header, changes with idempotency tokens, and secrets outside of bodies. */

let server: CapturingServer;
const statuses: number[] = [];
beforeAll(async () => {
  server = await startServer((_request, response) => response.writeHead(statuses.shift() ?? 200).end('{}'));
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const base = restoreInstance as Operation;

/** A change of KMS's key, as a file of operations would have it: one address for all operations, which a header names. */
const keyChange = (name: string, api: string, more: Partial<Operation> = {}): Operation => ({
  ...base,
  name,
  api,
  service: 'devops',
  input: () => z.strictObject({ KeyId: z.string(), Password: z.string().optional(), ...consentArguments() }),
  output: () => z.object({}),
  defaults: [],
  unknownDefaults: [],
  secrets: ['Password'],
  request: ({ KeyId }) => ({ path: '/', headers: { 'X-Amz-Target': `TrentService.${api}` }, body: json({ KeyId }) }),
  extract: (body) => body,
  summarize: () => say`Done.`,
  change: {
    costsMoney: false,
    continues: false,
    headline: ({ KeyId }) => say`Change key ${String(KeyId)}`,
    accept: () => say`Change`,
    consequences: () => [],
    warnings: () => [],
    notChecked: [],
    named: ['KeyId'],
    verificationHint: () => say`the key`,
  },
  ...more,
});

const enableKey = keyChange('enable_key', 'EnableKey');
const disableKey = keyChange('disable_key', 'DisableKey');
const withToken = keyChange('create_key', 'CreateKey', {
  takesToken: true,
  request: async ({ KeyId }, _after, token) => ({ path: '/', body: json({ KeyId, ClientToken: token }) }),
});
const operations = [enableKey, disableKey, withToken];
const args = { KeyId: 'k-1' };

test('two changes that differ only in a header are two changes, and each is sent once', async () => {
  const { call, close } = testCaller(server.origin, { operations });
  for (const operation of [enableKey, disableKey])
    expect(await call(operation, args, { signal: never })).toMatchObject({ ok: true });
  for (const operation of [enableKey, disableKey])
    expect(await call(operation, args, { signal: never })).toMatchObject({ failure: { code: 'Repeated' } });
  expect(server.requests.map(({ headers }) => headers['x-amz-target'])).toEqual([
    'TrentService.EnableKey',
    'TrentService.DisableKey',
  ]);
  const [first] = server.requests;
  expect(first?.headers.authorization).toMatch(/SignedHeaders=[^,]*x-amz-target/);
  await close();
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/;
const tokensSent = () => server.requests.map(({ body }) => JSON.parse(body).ClientToken);

test('a token is new for each consent, the same in each attempt, and does not make a repetition another change', async () => {
  const { call, close } = testCaller(server.origin, { operations });
  statuses.push(429, 200);
  expect(await call(withToken, args, { signal: never })).toMatchObject({ ok: true });
  const [token, again, ...others] = tokensSent();
  expect(token).toMatch(uuid);
  expect([again, others]).toEqual([token, []]);
  expect(await call(withToken, args, { signal: never })).toMatchObject({ failure: { code: 'Repeated' } });
  expect(server.requests).toHaveLength(2);
  await call(withToken, { ...args, allowRepeat: true }, { signal: never });
  expect(tokensSent()[2]).toMatch(uuid);
  expect(tokensSent()[2]).not.toBe(token);
  await close();
});

test('the token of a plan belongs to the plan, which says that it is added', async () => {
  const { call, confirm, close } = testCaller(server.origin, { operations, confirm: 'plan' });
  const planned = await call(withToken, args, { signal: never });
  const { changeId, plan } = 'structured' in planned ? Object(planned.structured) : {};
  expect(plan.body).toEqual({ ...args, ClientToken: 'added-when-sent' });
  expect(await confirm(changeId, 'create_key')).toMatchObject({ ok: true });
  expect(tokensSent()).toEqual([expect.stringMatching(uuid)]);
  await close();
});

test('if the request with the token cannot be made, nothing was sent', async () => {
  const broken = keyChange('broken', 'Broken', {
    takesToken: true,
    request: (_input, _after, token) => {
      if (token !== undefined) throw new Error('a fault');
      return { path: '/' };
    },
  });
  const store = memoryStore();
  const { call, close } = testCaller(server.origin, { store, operations: [broken] });
  const outcome = await call(broken, args, { signal: never });
  expect(outcome).toMatchObject({ failure: { code: 'InternalError', mayHaveHappened: false } });
  expect(await store.newest({ limit: 99 })).toMatchObject([{ state: 'not sent' }]);
  expect(server.requests).toEqual([]);
  await close();
});

const secret = 'MARKER password';

test.each<readonly [string, Operation['request']]>([
  ['a query', ({ Password }) => ({ path: '/', query: { Password: String(Password) } })],
  ['a path', ({ Password }) => ({ path: `/users/${encodeURIComponent(String(Password))}` })],
  ['a header', ({ Password }) => ({ path: '/', headers: { 'x-password': String(Password) } })],
  ['base64', ({ Password }) => ({ path: '/', body: json({ P: Buffer.from(String(Password)).toString('base64') }) })],
  [
    'a form that only the secret has',
    ({ Password }) => {
      if (Password !== secret) throw new Error('not a secret');
      return { path: '/a', query: { Password: String(Password) } };
    },
  ],
])('a secret in %s is sent, and is in no plan, journal or log', async (_where, request) => {
  const store = memoryStore();
  const operation = keyChange('set_password', 'SetPassword', { request });
  const { call, confirm, logged, close } = testCaller(server.origin, {
    operations: [operation],
    confirm: 'plan',
    store,
  });
  const given = { ...args, Password: secret };
  const planned = await call(operation, given, { signal: never });
  const { changeId } = 'structured' in planned ? Object(planned.structured) : {};
  expect(await confirm(changeId, 'set_password')).toMatchObject({ ok: true });
  const [sent] = server.requests;
  const encoded = Buffer.from(secret).toString('base64');
  // A signature encodes a path twice.
  const inPath = encodeURIComponent(secret);
  const forms = [secret, inPath, encodeURIComponent(inPath), encoded];
  expect(forms.some((form) => JSON.stringify(sent).includes(form))).toBe(true);
  const kept = JSON.stringify([planned, await store.newest({ limit: 99 }), logged]);
  for (const form of forms) expect(kept).not.toContain(form);
  await close();
});
