import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Elicitor } from '../../src/calls/context.js';
import { thingOf } from '../../src/changes/change-state.js';
import type { Changes } from '../../src/changes/store.js';
import { exampleOf, type Operation } from '../../src/tools/define-operation.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturedRequest, type CapturingServer, startServer } from '../support/http-server.js';
import { http, member, operationsFrom, smallModelJson } from './small-model.js';

/** Changes of models whose requests differ only in a header, have an idempotency token, or hold a secret outside of the body. */

let cloud: CapturingServer;
/** Answers to the next requests. Others get 200 and an empty record. */
const answers: ((request: CapturedRequest) => {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
})[] = [];
beforeAll(async () => {
  cloud = await startServer((request, response) => {
    const { status, body, headers } = answers.shift()?.(request) ?? { status: 200, body: '{}' };
    response.writeHead(status, headers).end(body);
  });
});
beforeEach(() => {
  cloud.requests.length = 0;
});
afterAll(() => cloud.close());

type SmallModel = Parameters<typeof smallModelJson>;

/** The operations of a small model as changes. */
function changesOf(names: readonly string[], ...model: SmallModel): readonly Operation[] {
  return changesWith({}, names, ...model);
}

function changesWith(more: object, names: readonly string[], ...model: SmallModel): readonly Operation[] {
  const change = { effect: 'alter', costsMoney: false, ...more };
  const operations = Object.fromEntries(names.map((name) => [name, change]));
  return operationsFrom(smallModelJson(...model), operations, { api: 'keys', prefix: 'kms' });
}

function changeOf(name: string, ...model: SmallModel): Operation {
  const [operation] = changesOf([name], ...model);
  if (operation === undefined) throw new Error('there is none');
  return operation;
}

const caller = (options: Parameters<typeof testCaller>[1] = {}) =>
  testCaller('', { ...options, cloud: { endpoints: { keys: cloud.origin } } });

test('EnableKey and DisableKey differ only in a header, and are two changes that are sent once each', async () => {
  const input = { KeyId: member('String', { required: {} }) };
  const operations = changesOf(
    ['EnableKey', 'DisableKey'],
    { EnableKey: { input }, DisableKey: { input } },
    {},
    'awsJson1_1',
  );
  const store = memoryStore();
  const { call, close } = caller({ store });
  for (const operation of operations)
    expect(await call(operation, { KeyId: 'k-1' }, { signal: never })).toMatchObject({ ok: true });
  for (const operation of operations)
    expect(await call(operation, { KeyId: 'k-1' }, { signal: never })).toMatchObject({ failure: { code: 'Repeated' } });
  const keys = (await store.newest({ limit: 9 })).map(({ requestKey }) => requestKey);
  await close();
  const wire = cloud.requests.map(({ method, url, headers, body }) => [method, url, headers['x-amz-target'], body]);
  expect(wire).toEqual([
    ['POST', '/', 'Service.EnableKey', '{"KeyId":"k-1"}'],
    ['POST', '/', 'Service.DisableKey', '{"KeyId":"k-1"}'],
  ]);
  expect(new Set(keys).size).toBe(2);
});

test('the answer to a change is exact', async () => {
  const [input, output] = [{ Key: member('String', { required: {} }) }, { Key: 'String', State: 'String' }];
  const operation = changeOf('RenameKey', { RenameKey: { input, output, traits: http('POST', '/names') } });
  const { call, close } = caller();
  const name = 'nb\u00a0sp';
  answers.push(() => ({ status: 200, body: JSON.stringify({ Key: name, State: name }) }));
  const result = await call(operation, { Key: name }, { signal: never });
  await close();
  expect(result).toMatchObject({ structured: { answer: { Key: name, State: name } } });
  expect(result.text).not.toContain(name);
});

describe('the answer to a change may say with status 200 that it failed', () => {
  const output = {
    FunctionError: member('String', { httpHeader: 'X-Error' }),
    Unprocessed: 'small#Tables',
  };
  const strings = { target: 'smithy.api#String' };
  const model: SmallModel = [
    {
      Write: { input: { Items: member('small#Items', { required: {} }) }, output, traits: http('POST', '/items') },
      PutRecords: {
        input: { Items: member('small#Items', { required: {} }) },
        output: { Records: 'small#Records' },
        traits: http('POST', '/records'),
      },
    },
    {
      'small#Records': { type: 'list', member: { target: 'small#Record' } },
      'small#Record': { type: 'structure', members: { Id: strings, ErrorCode: strings } },
      'small#Items': { type: 'list', member: strings },
      'small#Tables': { type: 'map', key: strings, value: { target: 'small#Items' } },
    },
  ];
  const outcomeOf = async (settings: object, body: object, headers = {}, name = 'Write') => {
    const [operation] = changesWith(settings, [name], ...model);
    if (operation === undefined) throw new Error('there is none');
    const store = memoryStore();
    const { call, close } = caller({ store });
    answers.push(() => ({ status: 200, body: JSON.stringify(body), headers }));
    const told = await call(operation, { Items: ['a', 'b'] }, { signal: never });
    const [change] = await store.newest({ limit: 1 });
    await close();
    return { told, change };
  };

  test('by the error of a function', async () => {
    const { told, change } = await outcomeOf({}, {}, { 'x-error': 'Unhandled' });
    expect(told).toMatchObject({
      failure: { code: 'ErrorInAnswer', mayHaveHappened: true, serviceSays: { code: 'Unhandled' } },
    });
    expect(change).toMatchObject({ state: 'unknown', ending: { status: 200 } });
    const empty = await outcomeOf({}, {}, { 'x-error': '' });
    expect(empty.change).toMatchObject({ state: 'accepted' });
  });

  const Unprocessed = { orders: ['b'] };
  const Records = [{ Id: 'a' }, { ErrorCode: 'Throttled' }];
  test.each<[what: string, settings: object, name: string, body: object]>([
    ['a map with lists of entries', { failures: 'Unprocessed' }, 'Write', { Unprocessed }],
    ['a collection that is named like failures', {}, 'Write', { Unprocessed }],
    ['the entries of a list that have an error', {}, 'PutRecords', { Records }],
  ])('by %s', async (_what, settings, name, body) => {
    const { told, change } = await outcomeOf(settings, body, {}, name);
    expect(told).toMatchObject({ structured: { outcome: 'partly', failed: { count: 1 } } });
    expect(change).toMatchObject({ state: 'partly', ending: { failed: { count: 1 } } });
  });

  test.each<[what: string, settings: object, name: string, body: object]>([
    ['no entry has an error', {}, 'PutRecords', { Records: [{ Id: 'a' }, { Id: 'b' }] }],
    ['the list is empty', {}, 'Write', { Unprocessed: {} }],
    ['the file says that the list has no failures', { failures: false }, 'Write', { Unprocessed }],
  ])('but not if %s', async (_what, settings, name, body) => {
    const { change } = await outcomeOf(settings, body, {}, name);
    expect(change).toMatchObject({ state: 'accepted' });
  });
});

describe('an error with further members', () => {
  const strings = { target: 'smithy.api#String' };
  const shapes = {
    'small#Canceled': {
      type: 'structure',
      members: {
        Message: strings,
        CancellationReasons: { target: 'small#Reasons' },
        Attempts: { target: 'smithy.api#Integer' },
        Password: strings,
        Email: { ...strings, traits: { 'smithy.api#sensitive': {} } },
      },
      traits: { 'smithy.api#error': 'client', 'aws.protocols#awsQueryError': { code: 'Small.Canceled' } },
    },
    'small#Reasons': { type: 'list', member: { target: 'small#Reason' } },
    'small#Reason': { type: 'structure', members: { Code: strings, Message: strings } },
  };
  const input = { Passphrase: 'String' };

  async function failureOf(protocol: string, body: string) {
    const json = smallModelJson({ WriteAll: { input } }, shapes, protocol);
    const operation = { ...Object(json.shapes['small#WriteAll']), errors: [{ target: 'small#Canceled' }] };
    const model = { ...json, shapes: { ...json.shapes, 'small#WriteAll': operation } };
    const [writeAll] = operationsFrom(model, { WriteAll: { effect: 'alter' } }, { api: 'keys' });
    if (writeAll === undefined) throw new Error('there is none');
    const store = memoryStore();
    const { call, close } = caller({ store });
    answers.push(() => ({ status: 400, body }));
    const result = await call(writeAll, { Passphrase: 'MARKER-passphrase' }, { signal: never });
    const [change] = await store.newest({ limit: 1 });
    await close();
    expect(JSON.stringify([result, change])).not.toContain('MARKER');
    return result;
  }

  test('keeps them in JSON, without secrets', async () => {
    const CancellationReasons = [{ Code: 'None' }, { Code: 'ConditionalCheckFailed', Message: 'MARKER-passphrase' }];
    const error = { CancellationReasons, Password: 'MARKER-1', Email: 'MARKER-2', Attempts: 2, Unknown: 'MARKER-3' };
    const body = JSON.stringify({ __type: 'x#Canceled', Message: 'Canceled.', ...error });
    const result = await failureOf('awsJson1_0', body);
    const reasons = [{ Code: 'None' }, { Code: 'ConditionalCheckFailed', Message: '[removed: it held a secret]' }];
    const hidden = '(hidden, because it may be a secret)';
    expect(result).toMatchObject({
      failure: {
        serviceSays: {
          code: 'Canceled',
          message: 'Canceled.',
          CancellationReasons: JSON.stringify(reasons),
          Attempts: '2',
          Password: hidden,
          Email: hidden,
        },
      },
    });
    expect(result.text).toContain('CancellationReasons "[{\\"Code\\":\\"None\\"},');
  });

  test('keeps them in XML, by the code of the query protocol', async () => {
    const error = '<Code>Small.Canceled</Code><Message>Canceled.</Message><Attempts>2</Attempts>';
    const body = `<ErrorResponse><Error>${error}</Error><RequestId>r</RequestId></ErrorResponse>`;
    const { failure } = Object(await failureOf('awsQuery', body));
    expect(failure.serviceSays).toEqual({ code: 'Small.Canceled', message: 'Canceled.', Attempts: '2' });
  });

  test('bounds them, and shows an error that the model does not describe', async () => {
    const CancellationReasons = Array.from({ length: 999 }, () => ({ Code: 'None' }));
    const long = await failureOf('awsJson1_0', JSON.stringify({ __type: 'Canceled', CancellationReasons }));
    expect(Object(long).failure.serviceSays.CancellationReasons).toHaveLength(2001);
    const other = await failureOf('awsJson1_0', JSON.stringify({ __type: 'Other', CancellationReasons }));
    expect(Object(other).failure.serviceSays).toEqual({ code: 'Other' });
  });
});

describe.each([
  ['a body of JSON', 'restJson1', {}, ({ body }: CapturedRequest) => JSON.parse(body).Token],
  [
    'a header',
    'restJson1',
    { httpHeader: 'X-Client-Token' },
    ({ headers }: CapturedRequest) => headers['x-client-token'],
  ],
  [
    'a query',
    'restJson1',
    { httpQuery: 'token' },
    ({ url }: CapturedRequest) => new URL(url, cloud.origin).searchParams.get('token'),
  ],
  ['a body of JSON RPC', 'awsJson1_0', {}, ({ body }: CapturedRequest) => JSON.parse(body).Token],
  ['a form', 'awsQuery', {}, ({ body }: CapturedRequest) => new URLSearchParams(body).get('Token')],
] as const)('an idempotency token in %s', (_where, protocol, traits, tokenIn) => {
  const create = () =>
    changeOf(
      'CreateKey',
      {
        CreateKey: {
          input: {
            Alias: member('String', { required: {} }),
            Token: member('String', { idempotencyToken: {}, ...traits }),
          },
          traits: http('POST', '/keys'),
        },
      },
      {},
      protocol,
    );
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/;

  test('is the same in each attempt, and makes no repetition another change', async () => {
    const operation = await create();
    const store = memoryStore();
    const { call, close } = caller({ store });
    answers.push(() => ({ status: 429, body: '' }));
    expect(await call(operation, { Alias: 'a' }, { signal: never })).toMatchObject({ ok: true });
    const [token, again, ...others] = cloud.requests.map(tokenIn);
    expect(token).toMatch(uuid);
    expect([again, others]).toEqual([token, []]);
    expect(await call(operation, { Alias: 'a' }, { signal: never })).toMatchObject({ failure: { code: 'Repeated' } });
    expect(cloud.requests).toHaveLength(2);
    await call(operation, { Alias: 'a', allowRepeat: true }, { signal: never });
    const keys = (await store.newest({ limit: 9 })).map(({ requestKey }) => requestKey);
    await close();
    const [, , ofRepetition] = cloud.requests.map(tokenIn);
    expect(ofRepetition).toMatch(uuid);
    expect(ofRepetition).not.toBe(token);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test('belongs to the plan, which says that it is added, and is not what consent is bound to', async () => {
    const operation = await create();
    const { call, confirm, store, close } = caller({ confirm: 'plan' });
    const planned = await call(operation, { Alias: 'a' }, { signal: never });
    expect(await confirm(...(await waitingIn(store)))).toMatchObject({ ok: true });
    await close();
    const [token] = cloud.requests.map(tokenIn);
    expect(token).toMatch(uuid);
    expect(JSON.stringify(planned)).not.toContain(token);
    expect(JSON.stringify(planned)).toMatch(/(?:"Token|x-client-token|token=)[^a-z]*added-when-sent/i);
  });
});

/** The ID and the thing of the change that waits, as `confirm_change` takes them. */
async function waitingIn(store: Changes): Promise<[id: string, thing: string]> {
  const [change] = await store.waiting({});
  if (change === undefined) throw new Error('no change waits');
  return [change.id, thingOf(change)];
}

const secret = 'MARKER+secret/of 1';
const forms = [
  secret,
  encodeURIComponent(secret),
  encodeURIComponent(secret).replaceAll('%20', '+'),
  JSON.stringify(secret).slice(1, -1),
];
/** The secret in one of its forms, or a long part of it. */
const holdsSecret = (text: string) => [...forms, 'MARKER'].some((form) => text.includes(form));

describe.each<readonly [where: string, name: string, traits: object, sent: (request: CapturedRequest) => unknown]>([
  ['a header', 'X-Key-Password', { httpHeader: 'X-Key-Password' }, ({ headers }) => headers['x-key-password']],
  [
    'a query',
    'password',
    { httpQuery: 'password' },
    ({ url }) => new URL(url, cloud.origin).searchParams.get('password'),
  ],
])('a secret member in %s', (_where, name, traits, sent) => {
  const unlock = () =>
    changeOf('UnlockKey', {
      UnlockKey: {
        input: {
          KeyId: member('String', { required: {}, httpLabel: {} }),
          Phrase: member('String', { required: {}, sensitive: {}, ...traits }),
          Reason: 'String',
        },
        output: { Note: 'String' },
        traits: http('POST', '/keys/{KeyId}/unlock'),
      },
    });
  const args = { KeyId: 'k-1', [name]: secret, Reason: 'none' };
  /** A cloud that repeats the whole request, as a debugging proxy would. */
  const repeating = (status: number) => (request: CapturedRequest) => ({
    status,
    body: JSON.stringify({
      Note: JSON.stringify(request),
      code: 'Refused',
      message: `${request.url} ${sent(request)}`,
    }),
  });

  test.each([
    [200, { ok: true }],
    [400, { ok: false, failure: { mayHaveHappened: false } }],
    [500, { ok: false, failure: { mayHaveHappened: true } }],
  ])('arrives, and is in no plan, journal, log or answer of status %i', async (status, expected) => {
    const operation = await unlock();
    const store = memoryStore();
    const { call, confirm, get, logged, close } = caller({ confirm: 'plan', store });
    const planned = await call(operation, args, { signal: never });
    const [id, thing] = await waitingIn(store);
    answers.push(repeating(status));
    const result = await confirm(id, thing);
    const repeated = await get(id);
    const changes = await store.newest({ limit: 9 });
    await close();
    expect(result).toMatchObject(expected);
    expect(cloud.requests.map(sent)).toEqual([secret]);
    expect(logged.map(({ event }) => event)).toContain('call');
    for (const kept of [planned, result, repeated, changes, logged])
      expect(holdsSecret(JSON.stringify(kept)), JSON.stringify(kept)).toBe(false);
    // The plan says that there is a secret, and everything else.
    expect(JSON.stringify(planned)).toContain('k-1');
  });

  test('arrives, and is in no question', async () => {
    const operation = await unlock();
    const questions: string[] = [];
    const { call, close } = caller({ confirm: 'ask' });
    const elicitor: Elicitor = {
      // A client in between would have to answer as slowly as a person.
      isDirect: true,
      show: (plan) => questions.push(JSON.stringify(plan)),
      ask: async (message, accept) => {
        questions.push(`${message} ${accept}`);
        return { kind: 'agreed' };
      },
    };
    expect(await call(operation, args, { signal: never, client: { elicitor } })).toMatchObject({ ok: true });
    await close();
    expect(cloud.requests.map(sent)).toEqual([secret]);
    expect(questions).toEqual([expect.stringContaining('k-1'), expect.stringContaining('k-1')]);
    expect(holdsSecret(questions.join())).toBe(false);
  });
});

describe('the answer is kept with the change', () => {
  const output = { KeyId: 'String', Secret: 'String', Note: 'String' };
  /** Sends a change that the cloud answers with `answer`. Returns what the caller gets, and what the store has. */
  async function keptAnswer(more: object, answer: object) {
    const [operation] = changesWith(more, ['CreateKey'], { CreateKey: { input: {}, output } }, {}, 'awsJson1_1');
    if (operation === undefined) throw new Error('there is none');
    const store = memoryStore();
    const { call, close } = caller({ store });
    answers.push(() => ({ status: 200, body: JSON.stringify(answer) }));
    const told = await call(operation, {}, { signal: never });
    const [change] = await store.newest({ limit: 1 });
    await close();
    const outcome = change?.ending?.outcome;
    if (outcome?.kind !== 'succeeded') throw new Error('the store has no outcome');
    return { told, success: outcome.success, stored: JSON.stringify(outcome) };
  }

  test('as the caller got it', async () => {
    const { success } = await keptAnswer({}, { KeyId: 'k-1', Note: 'a\nb' });
    expect(success.answer).toEqual({ KeyId: 'k-1', Note: 'a\nb' });
  });

  test('without a secret that the file shows, which the caller sees once', async () => {
    const { told, success, stored } = await keptAnswer(
      { show: ['Secret'] },
      { KeyId: 'k-1', Secret: 'hunter2-hunter2' },
    );
    expect(told.text).toContain('hunter2-hunter2');
    expect(stored).not.toContain('hunter2');
    expect(success.answer).toEqual({ KeyId: 'k-1', Secret: '(shown once, and not kept)' });
  });

  test.each([
    ['64 KiB', 0, true],
    ['more', 1, false],
  ])('if it has %s', async (_what, more, isKept) => {
    const Note = 'n'.repeat(64 * 1024 - JSON.stringify({ Note: '' }).length + more);
    const { success } = await keptAnswer({}, { Note });
    expect(success.answer !== undefined).toBe(isKept);
    expect(success.notes?.some(({ text }) => text.includes('too long to be kept')) === true).toBe(!isKept);
  });
});

test.each([
  ['a list of structures', { Users: [{ Password: 'hunter2-hunter2' }] }],
  ['a list', { Passwords: ['hunter2-hunter2'] }],
  ['a map', { Secrets: { a: 'hunter2-hunter2' } }],
])('a secret in %s is not stored', async (_where, args) => {
  const [operation] = changesWith(
    {},
    ['CreateBroker'],
    { CreateBroker: { input: { Users: 'small#Users', Passwords: 'small#Texts', Secrets: 'small#TextMap' } } },
    {
      'small#Users': { type: 'list', member: { target: 'small#User' } },
      'small#User': { type: 'structure', members: { Password: { target: 'smithy.api#String' } } },
      'small#Texts': { type: 'list', member: { target: 'smithy.api#String' } },
      'small#TextMap': {
        type: 'map',
        key: { target: 'smithy.api#String' },
        value: { target: 'smithy.api#String' },
      },
    },
    'awsJson1_1',
  );
  if (operation === undefined) throw new Error('there is none');
  const store = memoryStore();
  const { call, close } = caller({ confirm: 'plan', store });
  await call(operation, args, { signal: never });
  const changes = await store.newest({ limit: 9 });
  await close();
  expect(changes).toHaveLength(1);
  expect(JSON.stringify(changes)).not.toContain('hunter2');
});

describe('a secret by name', () => {
  const strings = { target: 'smithy.api#String' };
  const required = { 'smithy.api#required': {} };
  const model: SmallModel = [
    {
      CreateLogin: {
        input: {
          UserName: member('String', { required: {} }),
          Password: member('small#Password', { required: {} }),
          Vault: 'small#Vault',
          PrivateKey: member('Blob', { sensitive: {} }),
        },
      },
      PutParameter: {
        input: { Name: member('String', { required: {} }), Value: member('String', { required: {}, sensitive: {} }) },
      },
      AddUsers: { input: { Users: 'small#Users' } },
    },
    {
      'small#Password': { type: 'string', traits: { 'smithy.api#length': { min: 12, max: 40 } } },
      'small#Vault': { type: 'structure', members: { Title: strings, Passphrase: { ...strings, traits: required } } },
      'small#Users': { type: 'list', member: { target: 'small#Vault' } },
    },
    'awsJson1_1',
  ];
  const secretsDir = mkdtempSync(join(tmpdir(), 'cloudops-secrets-'));
  const password = 'MARKER-login-1';
  writeFileSync(join(secretsDir, 'login'), `${password}\n`);
  writeFileSync(join(secretsDir, 'phrase'), 'MARKER-phrase-1');
  writeFileSync(join(secretsDir, 'short'), 'MARKER');
  writeFileSync(join(secretsDir, 'key.der'), Buffer.from([0xff, 0x00, 0x0a]));
  afterAll(() => rmSync(secretsDir, { recursive: true }));

  const operationOf = async (name: string) => {
    const operation = changesOf(['CreateLogin', 'PutParameter', 'AddUsers'], ...model).find(({ api }) => api === name);
    if (operation === undefined) throw new Error('there is none');
    return operation;
  };
  const bodies = () => cloud.requests.map(({ body }) => JSON.parse(body));
  const args = {
    UserName: 'u-1',
    PasswordSecretName: 'login',
    Vault: { Title: 't', PassphraseSecretName: 'phrase' },
    PrivateKeySecretName: 'key.der',
  };

  test('waits for a decision, is sent, and is nowhere else', async () => {
    const operation = await operationOf('CreateLogin');
    const store = memoryStore();
    const { call, confirm, logged, close } = caller({ confirm: 'plan', store, secretsDir });
    const planned = await call(operation, args, { signal: never });
    const [change] = await store.waiting({});
    expect(change?.args).toMatchObject(args);
    const result = await confirm(...(await waitingIn(store)));
    const changes = await store.newest({ limit: 9 });
    await close();
    expect(result).toMatchObject({ ok: true });
    expect(bodies()).toEqual([
      {
        UserName: 'u-1',
        Password: password,
        Vault: { Title: 't', Passphrase: 'MARKER-phrase-1' },
        PrivateKey: Buffer.from([0xff, 0x00, 0x0a]).toString('base64'),
      },
    ]);
    for (const kept of [planned, result, changes, logged]) expect(JSON.stringify(kept)).not.toContain('MARKER');
    expect(planned.text).toContain('Password "the secret \\"login\\" of this server"');
    expect(planned.text).not.toContain('came with the call');
  });

  test('may change before the decision, and then nothing is sent', async () => {
    const operation = await operationOf('CreateLogin');
    const { call, confirm, store, close } = caller({ confirm: 'plan', secretsDir });
    await call(operation, { UserName: 'u-2', PasswordSecretName: 'login' }, { signal: never });
    writeFileSync(join(secretsDir, 'login'), 'MARKER-login-2');
    const result = await confirm(...(await waitingIn(store)));
    writeFileSync(join(secretsDir, 'login'), password);
    await close();
    expect(result).toMatchObject({ ok: false, failure: { code: 'PlanRefused' } });
    expect(cloud.requests).toEqual([]);
  });

  test.each([
    [{}, 'InvalidArguments', 'Password: is required, or PasswordSecretName'],
    [
      { PasswordSecretName: 'login', Password: 'MARKER-by-value' },
      'InvalidArguments',
      'must be left out if Password is given',
    ],
    [
      { PasswordSecretName: 'short' },
      'InvalidArguments',
      'Password: the value given (not shown) must have 12 to 40 characters',
    ],
    [{ PasswordSecretName: 'none' }, 'InvalidArguments', 'PasswordSecretName: none does not exist'],
    [
      { Password: 'MARKER-by-value' },
      'SecretByValue',
      'PasswordSecretName: give the name of a secret here, in place of Password',
    ],
    [
      { PasswordSecretName: 'login', Vault: {} },
      'InvalidArguments',
      'Vault.Passphrase: is required, or Vault.PassphraseSecretName',
    ],
  ])('%j is refused', async (given, code, problem) => {
    const operation = await operationOf('CreateLogin');
    const { call, logged, close } = caller({ secretsDir });
    const result = await call(operation, { UserName: 'u-3', ...given }, { signal: never });
    await close();
    expect(result).toMatchObject({ failure: { code } });
    expect(result.text).toContain(problem);
    expect(result.text + JSON.stringify(logged)).not.toContain('MARKER');
    expect(cloud.requests).toEqual([]);
  });

  test('is taken for a value that may be no secret, which may be given too', async () => {
    const operation = await operationOf('PutParameter');
    const store = memoryStore();
    const { call, close } = caller({ secretsDir, store });
    const byName = await call(operation, { Name: '/db', ValueSecretName: 'login' }, { signal: never });
    const byValue = await call(operation, { Name: '/level', Value: 'debug' }, { signal: never });
    const changes = await store.newest({ limit: 9 });
    await close();
    expect([byName, byValue]).toMatchObject([{ ok: true }, { ok: true }]);
    expect(bodies()).toEqual([
      { Name: '/db', Value: password },
      { Name: '/level', Value: 'debug' },
    ]);
    expect(JSON.stringify([byName, changes])).not.toContain('MARKER');
  });

  test('is not taken in a list, where a value is sent', async () => {
    const operation = await operationOf('AddUsers');
    const { call, close } = caller({ secretsDir });
    const result = await call(operation, { Users: [{ Passphrase: 'by-value' }] }, { signal: never });
    await close();
    expect(result).toMatchObject({ ok: true });
    expect(bodies()).toEqual([{ Users: [{ Passphrase: 'by-value' }] }]);
    expect(operation.secretNames).toBeUndefined();
  });

  test('is in the example, and in the list of tools of a server with a folder of secrets', async () => {
    const operation = await operationOf('CreateLogin');
    expect(exampleOf(operation)).toEqual({ UserName: 'example', PasswordSecretName: 'example-secret' });
    expect(operation.schemas?.input).toMatchObject({ required: ['UserName', 'Password'] });
    expect(JSON.stringify(operation.schemas)).not.toContain('SecretName');
    const operations = operationsFrom(
      smallModelJson(...model),
      { CreateLogin: { effect: 'create' } },
      { api: 'keys' },
      true,
    );
    const description = "Better: a secret's name here.";
    expect(operations[0]?.schemas?.input).toMatchObject({
      required: ['UserName'],
      properties: {
        PasswordSecretName: { type: 'string', description },
        Vault: { properties: { PassphraseSecretName: { type: 'string', description } } },
        PrivateKeySecretName: { type: 'string', description },
      },
    });
  });
});
