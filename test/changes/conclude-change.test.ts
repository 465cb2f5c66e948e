import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { consentArguments } from '../../src/tools/schema/fields.js';
import { parseBody } from '../../src/transport/parse-body.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { say, textFor } from '../../src/util/safe-text.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { answeredBy, scriptedClient, unanswered } from '../support/scripted-client.js';

/** Each kind of answer to a change, and the outcome that the caller and the journal get. docs/OPERATE.md has the same table for people. */

const keys = ['a', 'b', 'c', 'd', 'e'];
const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
const json = restoreInstance as Operation;
const readsErrors: Operation = { ...json, errorOf: () => undefined };
const inXml: Operation = { ...json, answer: 'xml', extract: (body) => body };
const withoutAnswer: Operation = { ...json, answer: 'none' };
const inText: Operation = { ...json, answer: 'text', extract: (body) => ({ instance: { instanceId: String(body) } }) };
const anyFields: Operation = { ...json, output: () => json.output().pick({}), extract: (body) => body };
const inParts: Operation = {
  ...anyFields,
  failures: 'Errors',
  input: () => z.strictObject({ keys: z.array(z.string()), ...consentArguments() }),
  unknownDefaults: [],
  defaults: [],
  request: () => ({ path: '/' }),
  change: {
    costsMoney: false,
    continues: false,
    headline: () => say`Delete objects`,
    accept: () => say`Delete`,
    consequences: () => [],
    warnings: () => [],
    notChecked: [],
    named: [],
    verificationHint: () => say`the objects`,
  },
  summarize: () => say`Asked for.`,
};

async function outcomeOf(reply: FinalReply, operation: Operation = json) {
  const store = memoryStore();
  const { openClient } = scriptedClient(async () => reply);
  const { call } = testCaller('http://127.0.0.1:1', { openClient, store, operations: [operation] });
  const { ok, ...told } = await call(operation, 'keys' in operation.input().shape ? { keys } : args, { signal: never });
  const [entry] = await store.newest({ limit: 99 });
  return { ok, told, state: entry?.state, ending: entry?.ending };
}

const answer = (status: number, body: string, headers: object = {}) => answeredBy(status, parseBody(body), 1, headers);
const cut: FinalReply = {
  kind: 'answered',
  response: {
    kind: 'response',
    status: 200,
    headers: {},
    bodyFailure: { kind: 'failure', code: 'BodyIncomplete', detail: '', mayHaveArrived: true },
  },
  body: { kind: 'empty' },
  readText: async (read) => read(''),
  attempts: [{ result: '200' }],
  endedAt: new Date(),
  keyId: 'AKIDTEST',
};
const record = '{"instance":{"instanceId":"one"}}';
const page = '<html><body>Sign in</body></html>';
const xmlError = (code: string) => `<Error><Code>${code}</Code></Error>`;

const refused = answer(400, '{"code":"AccessDenied"}');
const rows: readonly (readonly [
  what: string,
  reply: FinalReply,
  outcome: string,
  code?: string | undefined,
  operation?: Operation,
])[] = [
  ['the connection was refused', unanswered(false), 'not sent', 'ConnectionLost'],
  ['the connection was lost', unanswered(true), 'unknown', 'ConnectionLost'],
  ['200', answer(200, record), 'accepted'],
  ['202', answer(202, record), 'accepted'],
  ['302', answer(302, ''), 'unknown', 'Http302'],
  ['303', answer(303, ''), 'unknown', 'Http303'],
  ['307', answer(307, ''), 'rejected', 'Http307'],
  ['400', answer(400, '{"code":"Client.InvalidParameter"}'), 'rejected', 'Client.InvalidParameter'],
  ['400 with an AWS type', answer(400, '{"__type":"com.amazonaws.x#AccessDenied"}'), 'rejected', 'AccessDenied'],
  [
    '400 with a qualified code',
    answer(400, '{"code":"com.amazonaws.x#AccessDenied:http://x/"}'),
    'rejected',
    'AccessDenied',
  ],
  ['403 with a header', answer(403, '', { 'x-amzn-errortype': 'AccessDenied:http://x/' }), 'rejected', 'AccessDenied'],
  [
    '400 of EC2',
    answer(400, '<Response><Errors><Error><Code>AuthFailure</Code></Error></Errors></Response>'),
    'rejected',
    'AuthFailure',
  ],
  ...[308, 421, 425].map((status) => [`${status}`, answer(status, ''), 'rejected', `Http${status}`] as const),
  ...[408, 444, 460, 499].map((status) => [`${status}`, answer(status, ''), 'unknown', `Http${status}`] as const),
  ['429', answer(429, ''), 'rejected', 'Http429'],
  ['500', answer(500, ''), 'unknown', 'Http500'],
  ['503 SlowDown', answer(503, xmlError('SlowDown')), 'unknown', 'SlowDown'],

  ['200 with JSON of an internal error', answer(200, '{"code":"InternalError"}'), 'unknown', 'InternalError'],
  ['200 with JSON of a refusal', answer(200, '{"code":"AccessDenied"}'), 'rejected', 'AccessDenied'],
  ['200 with an unknown code', answer(200, '{"error":{"code":"Odd"}}'), 'unknown', 'Odd'],
  ['200 with an AWS type', answer(200, '{"__type":"a#ServiceUnavailable"}'), 'unknown', 'ServiceUnavailable'],
  ['200 with a code by a longer name', answer(200, '{"errorCode":"AccessDenied"}'), 'rejected', 'AccessDenied'],
  ['200 with a code and the record', answer(200, `{"code":"AccessDenied",${record.slice(1)}`), 'accepted'],
  ['200 with the code of a success', answer(200, '{"code":"Success"}'), 'accepted'],
  ['200 with a code, any fields expected', answer(200, '{"code":"AccessDenied"}'), 'accepted', undefined, anyFields],
  [
    '200 with a code, nothing expected',
    answer(200, '{"code":"AccessDenied"}'),
    'rejected',
    'AccessDenied',
    withoutAnswer,
  ],
  ['200 with an XML error', answer(200, xmlError('InternalError')), 'unknown', 'InternalError', inXml],
  ['200 with an XML refusal', answer(200, xmlError('InvalidPart')), 'rejected', 'InvalidPart', inXml],
  [
    '200 with an XML refusal of EC2',
    answer(200, '<Response><Errors><Error><Code>AuthFailure</Code></Error></Errors></Response>'),
    'rejected',
    'AuthFailure',
    inXml,
  ],
  ['200 with an XML error, nothing expected', answer(200, xmlError('SlowDown')), 'unknown', 'SlowDown', withoutAnswer],
  ['200 with an XML error, text expected', answer(200, xmlError('Timeout')), 'unknown', 'Timeout', inText],
  ['200 with another XML document', answer(200, '<Result><Error/></Result>'), 'accepted', undefined, inXml],
  [
    '200 with an error that the operation finds',
    answer(200, record),
    'rejected',
    'NoSuchThing',
    { ...json, errorOf: () => ({ code: 'NoSuchThing' }) },
  ],
  [
    '200 with an error that the operation finds later',
    answer(200, record),
    'unknown',
    'Odd',
    { ...json, errorOf: async () => ({ code: 'Odd' }) },
  ],

  ['200 with a page', answer(200, page), 'unknown', 'UnreadableAnswer'],
  ['200 with a page, text expected', answer(200, page), 'unknown', 'UnreadableAnswer', inText],
  ['200 that is no JSON', answer(200, '{"instance":'), 'accepted'],
  [
    '200 that is no JSON, of an operation that reads errors',
    answer(200, '{"a":'),
    'unknown',
    'UnreadableAnswer',
    readsErrors,
  ],
  [
    '200 with nothing that extract finds, of an operation that reads failures',
    answer(200, 'OK'),
    'unknown',
    'UnreadableAnswer',
    { ...inText, failures: 'Errors', extract: () => undefined },
  ],
  ['200 whose body was cut', cut, 'accepted'],
  ['200 whose body was cut, of an operation that reads errors', cut, 'unknown', 'UnreadableAnswer', readsErrors],
  ['200 whose body was cut, of an operation that reads failures', cut, 'unknown', 'UnreadableAnswer', inParts],
  ['200 at which extract throws', answer(200, record), 'accepted', undefined, { ...json, extract: fail }],
  ['200 at which errorOf throws', answer(200, record), 'unknown', 'InternalError', { ...json, errorOf: fail }],
  ['400 at which errorDetails throws', refused, 'unknown', 'InternalError', { ...json, errorDetails: fail }],
];

test.each(rows.map(([what, reply, outcome, code, operation]) => ({ what, reply, outcome, code, operation })))(
  '$what',
  async ({ reply, outcome, code, operation }) => {
    const { ok, told, state, ending } = await outcomeOf(reply, operation);
    expect(state).toBe(outcome);
    expect(ok).toBe(outcome === 'accepted');
    const seen = 'failure' in told ? told.failure : undefined;
    const ownCodes = ['UnreadableAnswer', 'ConnectionLost', 'InternalError'];
    if (code === undefined) expect(seen).toBeUndefined();
    else expect([seen?.code, seen?.serviceSays?.code, ...ownCodes].filter((one) => one === code)).not.toEqual([]);
    expect(ending?.code).toBe(code);
    expect(seen?.mayHaveHappened).toBe(code === undefined ? undefined : outcome === 'unknown');
  },
);

test.each([
  ['{}', 1],
  ['{"other":1}', 1],
  [record, 0],
])('an answer without any required field gets a warning: %s', async (body, count) => {
  const { told } = await outcomeOf(answer(200, body), { ...json, extract: (value) => value });
  const warnings = 'structured' in told ? told.structured.warnings : [];
  const all = warnings.map(({ text }) => text);
  expect(all.filter((text) => text === 'The answer has none of the expected fields: instance.')).toHaveLength(count);
});

test('the structure of an accepted change begins with what matters most, because some hosts pass on only its beginning', async () => {
  const { told } = await outcomeOf(answeredBy(200, parseBody(record), 2));
  const fields = Object.keys('structured' in told ? told.structured : {});
  const order = ['summary', 'outcome', 'consent', 'sentAt', 'where', 'effects', 'next', 'requestIds', 'attempts'];
  expect(fields).toEqual([...order, 'warnings', 'answer', 'changeId']);
});

function fail(): never {
  throw new Error('a fault');
}

describe('a change of five objects', () => {
  const failures = (...codes: readonly string[]) =>
    answer(200, JSON.stringify({ Errors: codes.map((Code, index) => ({ Code, Message: 'No.', Key: keys[index] })) }));

  test('is accepted if no entry failed', async () => {
    expect(await outcomeOf(failures(), inParts)).toMatchObject({ ok: true, state: 'accepted' });
  });

  test('is done in part if some entries failed, and only these are named', async () => {
    const codes = ['AccessDenied', 'AccessDenied', 'InternalError', 'AccessDenied'];
    const { ok, told, state, ending } = await outcomeOf(failures(...codes), inParts);
    expect([ok, state]).toEqual([true, 'partly']);
    expect(ending).toMatchObject({ failed: { count: 4, codes: ['AccessDenied', 'InternalError'] } });
    expect(told).toMatchObject({
      structured: {
        outcome: 'partly',
        failed: { count: 4, codes: ['"AccessDenied"', '"InternalError"'], names: ['"a"', '"b"', '"c"'] },
        summary: '4 of 5 entries failed: "a", "b", "c" and 1 more (codes "AccessDenied", "InternalError"). Asked for.',
        next: { who: 'user', action: 'ask', text: expect.stringContaining('"a", "b", "c" and 1 more') },
      },
      text: expect.stringContaining('outcome: partly\nfailed: 4 ("AccessDenied", "InternalError")'),
    });
  });

  test('reads a single failed entry of XML', async () => {
    const one = answer(200, JSON.stringify({ Errors: { Key: 'a', Code: 'AccessDenied' } }));
    const { told } = await outcomeOf(one, inParts);
    expect(told).toMatchObject({ structured: { failed: { count: 1, names: ['"a"'] } } });
  });

  test('is rejected if every entry was refused', async () => {
    const { ok, told, state, ending } = await outcomeOf(failures(...keys.map(() => 'AccessDenied')), inParts);
    expect([ok, state]).toEqual([false, 'rejected']);
    expect(told).toMatchObject({ failure: { code: 'AllEntriesFailed', mayHaveHappened: false, status: 200 } });
    expect(told).toMatchObject({ failure: { serviceSays: { code: 'AccessDenied', message: 'No.' } } });
    expect(JSON.stringify(told)).toContain('failed: every entry failed.');
    expect(ending).toMatchObject({ code: 'AccessDenied' });
  });

  test.each([['InternalError'], [undefined]])(
    'has an unknown outcome if every entry failed, one with %s',
    async (code) => {
      const refused = keys.slice(1).map((Key) => ({ Key, Code: 'AccessDenied' }));
      const reply = answer(200, JSON.stringify({ Errors: [{ Key: 'a', ...(code && { Code: code }) }, ...refused] }));
      const { told, state } = await outcomeOf(reply, inParts);
      expect(told).toMatchObject({ failure: { mayHaveHappened: true } });
      expect(state).toBe('unknown');
    },
  );

  const inMap: Operation = { ...inParts, failures: 'Unprocessed' };
  test.each<[string, object, object]>([
    ['lists', { a: [{ Put: { Id: '1' } }, { Put: { Id: '2' } }], b: [{ Put: { Id: '3' } }] }, { count: 3, names: [] }],
    ['entries', { a: { Message: 'No.' }, b: { Code: 'InUse', Message: 'No.' } }, { count: 2, names: ['"a"', '"b"'] }],
    ['the lists of an object', { Put: [{ Key: 'a' }], Delete: [] }, { count: 1, names: ['"a"'] }],
  ])('reads failed entries in a map of %s', async (_what, Unprocessed, failed) => {
    const { told, state, ending } = await outcomeOf(answer(200, JSON.stringify({ Unprocessed })), inMap);
    expect(told).toMatchObject({ structured: { outcome: 'partly', failed } });
    expect(state).toBe('partly');
    expect(ending).toMatchObject({ failed: { count: Object(failed).count } });
  });

  test('is accepted if the map of failed entries is empty', async () => {
    for (const Unprocessed of [{}, { a: [] }])
      expect(await outcomeOf(answer(200, JSON.stringify({ Unprocessed })), inMap)).toMatchObject({
        told: { structured: { outcome: 'accepted' } },
      });
  });

  test('has not failed as a whole if as many entries failed as are in one of several lists', async () => {
    const tables: Operation = {
      ...inMap,
      input: () => z.strictObject({ tables: z.string(), ...consentArguments() }),
      example: { tables: '' },
    };
    const { openClient } = scriptedClient(async () => answer(200, '{"Unprocessed":{"a":[{"Id":"1"},{"Id":"2"}]}}'));
    const { call } = testCaller('http://127.0.0.1:1', { openClient, operations: [tables] });
    const told = await call(tables, { tables: '{"a":[1,2],"b":[3]}' }, { signal: never });
    expect(told).toMatchObject({
      structured: { outcome: 'partly', summary: expect.stringMatching(/^2 of 3 entries/) },
    });
  });

  test('is done in part if its answer in XML looks like an error document of EC2', async () => {
    const xml: Operation = { ...inParts, answer: 'xml', failures: 'Response.Errors.Error' };
    const errors = '<Errors><Error><Key>a</Key><Code>NoSuchKey</Code></Error></Errors>';
    const { told } = await outcomeOf(answer(200, `<Response>${errors}<Deleted>b</Deleted></Response>`), xml);
    expect(told).toMatchObject({ structured: { outcome: 'partly', failed: { count: 1 } } });
    const whole = await outcomeOf(answer(200, '<Response><Errors/><Deleted>b</Deleted></Response>'), xml);
    expect(whole.state).toBe('accepted');
  });

  test('names the number of failed entries if they have no names', async () => {
    const withoutNames = answer(200, JSON.stringify({ Errors: [{ Code: 'AccessDenied' }, { Code: 'AccessDenied' }] }));
    const { told } = await outcomeOf(withoutNames, inParts);
    expect(told).toMatchObject({ structured: { next: { text: expect.stringContaining('2 entries') } } });
  });
});

describe('what happens next', () => {
  const stepOf = async (reply: FinalReply, operation: Operation) => {
    const { told } = await outcomeOf(reply, operation);
    if (!('structured' in told)) throw new Error('the change was not accepted');
    const { next } = told.structured;
    const textsOf = (['agent', 'person'] as const).map((reader) => textFor(reader, next?.text ?? say``).text);
    return { ...next, textsOf };
  };

  test('after a change that was done in part is another decision for the failed entries', async () => {
    const failed = answer(200, JSON.stringify({ Errors: [{ Key: 'a', Code: 'AccessDenied' }] }));
    const { textsOf } = await stepOf(failed, inParts);
    expect(textsOf).toEqual([
      expect.stringMatching(/^Tell the user what failed: "a"\. Only if they want it, call again/),
      expect.stringMatching(/^Not done: "a"\. Try again only for these/),
    ]);
  });

  test('after an answer that contradicts the request is a look into the console', async () => {
    const change = json.change && { ...json.change, contradictions: () => [say`another region`] };
    const { who, action, textsOf } = await stepOf(answer(200, record), { ...json, ...(change && { change }) });
    expect([who, action]).toEqual(['user', 'check']);
    expect(textsOf).toEqual([
      expect.stringMatching(/^Do not call again/),
      expect.stringMatching(/^Look in the console/),
    ]);
  });

  test('is the step of the operation, after the report to the user', async () => {
    const ownStep = { who: 'user', action: 'ask', text: say`Ask for the name.` } as const;
    const { who, action, textsOf } = await stepOf(answer(200, record), { ...json, next: () => ownStep });
    expect([who, action]).toEqual(['user', 'ask']);
    expect(textsOf).toEqual([
      expect.stringMatching(/^Tell the user the outcome.* Ask for the name\.$/),
      'Ask for the name.',
    ]);
  });
});

test.each([
  ['are logged', json, [{ level: 'debug', event: 'answer', fields: { tool: json.name, lacks: expect.any(Array) } }]],
  ['are not logged if there are none', anyFields, []],
])('fields that the answer lacks %s', async (_how, operation, expected) => {
  const { openClient } = scriptedClient(async () => answer(200, '{"instance":{}}'));
  const { call, logged } = testCaller('http://127.0.0.1:1', { openClient, operations: [operation] });
  await call(operation, args, { signal: never });
  expect(logged.filter(({ event }) => event === 'answer')).toEqual(expected);
});

const nested = (depth: number, [start, end]: readonly [string, string]) =>
  `${start.repeat(depth)}"a"${end.repeat(depth)}`;
const oneFailed = '{"Errors":[{"Code":"AccessDenied","Key":"a"}]}';

test.each([
  ['an object in an object, thousands of times', nested(8_000, ['{"":', '}']), '{"done":["a"]}'],
  ['a list in a list, thousands of times', nested(8_000, ['[', ']']), '{"done":["a"]}'],
  ['deep JSON, and one entry failed', nested(8_000, ['{"":', '}']), oneFailed],
  ['a list of 200,000 entries, and one entry failed', JSON.stringify(Array(200_000).fill(1)), oneFailed],
])('an accepted change whose argument is the text of %s stays accepted', async (_what, value, body) => {
  const operation: Operation = {
    ...inParts,
    effect: 'alter',
    input: () => z.strictObject({ value: z.string(), ...consentArguments() }),
    request: () => ({ path: '/' }),
  };
  const store = memoryStore();
  const { openClient, requests } = scriptedClient(async () => answer(200, body));
  const { call } = testCaller('http://127.0.0.1:1', { openClient, store, operations: [operation] });
  expect(await call(operation, { value }, { signal: never })).toMatchObject({ ok: true });
  expect(requests).toHaveLength(1);
  expect(await store.newest({ limit: 99 })).toMatchObject([{ ending: { status: 200 } }]);
});

test.each([
  ['unknown if the operation may answer with errors', 'Errors', false, 'unknown'],
  ['accepted if it may not', undefined, true, 'accepted'],
])('after a fault in the evaluation of an answer, the outcome is %s', async (_what, failures, isOk, outcome) => {
  const fault = () => {
    throw new TypeError('MARKER');
  };
  // The entries that failed are looked for first.
  const get = vi.fn(() => failures).mockImplementationOnce(fault);
  const result = await outcomeOf(answer(200, oneFailed), Object.defineProperty({ ...inParts }, 'failures', { get }));
  expect([result.ok, result.state]).toEqual([isOk, outcome]);
  expect(JSON.stringify(result)).not.toContain('MARKER');
});
