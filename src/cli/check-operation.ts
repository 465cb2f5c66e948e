import { createCalls } from '../call-stack.js';
import type { Account, ConsentMode } from '../calls/account.js';
import type { SecretFiles } from '../calls/insert-secrets.js';
import { resultText } from '../calls/result-text.js';
import type { Change, Changes } from '../changes/change.js';
import { createInFlightCalls } from '../changes/in-flight.js';
import { createQuestionQueue } from '../changes/question-queue.js';
import { questionLimits } from '../mcp/client-quirks.js';
import { createDefinitionParser, plainString } from '../operations/definition-schema.js';
import { largestArguments, probeArguments, probeRecords } from '../operations/probe-values.js';
import { fixedKeys } from '../signing/keys.js';
import { type ExampleInput, exampleOf, type Operation } from '../tools/define-operation.js';
import { OperationFault } from '../tools/operation-fault.js';
import { type Body, parseBody } from '../transport/parse-body.js';
import { defaultAccount } from '../transport/request.js';
import type { FinalReply, OpenClient } from '../transport/signed-client.js';
import { errorName } from '../util/log.js';
import { valueAt, withValueAt } from '../util/objects.js';
import { exact, type SafeText, say, words } from '../util/safe-text.js';

/**
 * Tries an operation without a network: with arguments that are missing, wrong or as large as allowed, and with replies that are empty,
 * unusual, incomplete or always the same page. Returns a sentence for each fault of the operation's functions and each wrong outcome.
 */
export async function checkOperation(operation: Operation): Promise<string[]> {
  const { name } = operation;
  /** Sentences that begin with the operation's name. A set, because many calls find the same problem. */
  const problems = new Set<string>();
  // The parser guards the functions of the operation. A guard reports each fault to `failed`, with a message that names the operation.
  const parse = createDefinitionParser({
    failed: ({ message }) => {
      // Messages that are equal but for the string that they quote count as one.
      const fault = withoutQuote(message);
      if (![...problems].some((problem) => withoutQuote(problem) === fault)) problems.add(message);
    },
  });
  // Generated schemas are no part of a definition, so the parser would refuse them.
  const { schemas: _, ...definition } = operation;
  const parsed = parse(definition);
  // The set `problems` is still empty, because parsing calls none of the functions.
  if (parsed.kind === 'problems') return parsed.problems.map((problem) => `${name}: ${problem}`);

  try {
    const example = exampleOf(parsed.operation);
    // Without an example, nothing can be tried.
    if (example === undefined)
      return [`${name}: example: is missing, and none could be made up that keeps to the rules of the arguments`];
    for (const call of probeCalls(parsed.operation, example)) {
      const problem = await probeCall(call);
      if (problem !== undefined) problems.add(`${name}: ${problem}`);
    }
  } catch (error) {
    // A guard has reported this fault to `failed` before. Nothing more can be tried, because even the rules for arguments throw.
    if (!(error instanceof OperationFault)) throw error;
  }
  return [...problems];
}

/** The message of a guard, without the plain string that it may quote at its end. */
const withoutQuote = (message: string) => message.split(plainString)[0];

/**
 * Calls the operation with the example's arguments and a made-up answer. Returns the lines of the result as an agent reads it.
 * @param operations all operations, among which is the read that shows the progress of a change
 */
export async function exampleAnswer(
  operation: Operation,
  example: ExampleInput,
  operations: readonly Operation[],
): Promise<SafeText[]> {
  // The first probe record has every field, with entries in every list.
  const [completeRecord] = probeRecords(operation);
  const record = withoutFailures(completeRecord, operation);
  const [successReply] = probeReplies(operation);
  const { outcome } = await callOffline({
    // The reply has no data, so `extract` returns the record instead. If the operation reads pages, `onePage` ends after the first page.
    operation: { ...operation, extract: () => record, ...onePage(operation) },
    args: example,
    reply: successReply,
    operations,
  });
  // Never happens, because without `confirm`, `callOffline` asks nobody.
  if (outcome.kind === 'inputRequired') return [];
  // The example is valid, but `callOffline` replaces its secret by a made-up text, which the rules for the secret may refuse.
  const namesSecret = Object.keys(operation.secretNames ?? {}).some((path) => valueAt(example, path) !== undefined);
  if (namesSecret && outcome.kind === 'failed' && outcome.failure.code === 'InvalidArguments')
    return [words('It is not shown, because the rules for the secret in the example refuse a made-up one.')];

  const text = resultText(outcome.kind === 'succeeded' ? outcome.success : outcome.failure);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => say`${exact(line)}`);
}

/** Empties the list or map of failed entries, because usually no entry of a change fails. */
function withoutFailures(record: unknown, { failures: path }: Operation) {
  if (path === undefined) return record;
  return withValueAt(record, path, (entries) => (Array.isArray(entries) ? [] : {}));
}

/** Changes the field `pages` to end after the first page, because with the made-up reply, every page would be the same, without an end. */
function onePage({ pages }: Operation): Pick<Operation, 'pages'> {
  if (pages === undefined) return {};
  const add: typeof pages.add = (...args) => {
    const step = pages.add(...args);
    return step.kind === 'next' ? { kind: 'end', state: step.state } : step;
  };
  return { pages: { ...pages, add } };
}

interface ProbeCall {
  readonly operation: Operation;
  readonly args: unknown;
  readonly reply: FinalReply;
  /** `off` if absent: nobody is asked for consent. */
  readonly confirm?: ConsentMode;
  /** All operations. None if absent. */
  readonly operations?: readonly Operation[];
}

/**
 * Yields the calls to try: with unusual arguments, with the largest arguments, with odd records in the answer, and with odd replies.
 * @throws OperationFault if the rules for arguments or answers throw
 */
function* probeCalls(operation: Operation, example: ExampleInput): Generator<ProbeCall> {
  const replies = probeReplies(operation);
  const [successReply] = replies;
  const [completeRecord, ...oddRecords] = probeRecords(operation);
  /** The operation, but with this record in place of what `extract` would read from the reply. */
  const withRecord = (record: unknown): Operation => ({ ...operation, extract: () => record });
  const withUsualAnswer = { operation: withRecord(completeRecord), reply: successReply };
  const isChange = operation.effect !== 'read';

  for (const args of probeArguments(operation, example)) {
    const isValid = operation.input().safeParse(args).success;
    // With wrong arguments, a change and its plan are refused alike. Only the plan is tried, because its refusal also has warnings about the
    // other arguments, for which more functions of the operation run.
    const isOnlyPlanned = isChange && !isValid;
    if (!isOnlyPlanned) yield { ...withUsualAnswer, args };
    if (isChange) yield { ...withUsualAnswer, args: { ...args, planOnly: true } };
  }

  const largest = largestArguments(operation, example);
  yield { ...withUsualAnswer, args: largest };
  // If a person is asked, the whole change has to fit into the question.
  if (isChange) yield { ...withUsualAnswer, args: largest, confirm: 'ask' };

  for (const record of oddRecords) yield { operation: withRecord(record), args: example, reply: successReply };
  // Only in these calls, the operation's own `extract` reads the reply.
  for (const reply of replies) yield { operation, args: example, reply };
}

/** Makes a call. Returns the problem if its outcome is wrong. Faults of the operation's functions are not returned: guards report them. */
async function probeCall(call: ProbeCall): Promise<string | undefined> {
  let result: Awaited<ReturnType<typeof callOffline>>;
  try {
    result = await callOffline(call);
  } catch (error) {
    // A call should never throw, because it returns a failure even for a fault of the operation.
    return `a call threw ${errorName(error)}`;
  }

  const { outcome, isSent } = result;
  if (outcome.kind !== 'failed') return undefined;
  const { code, mayHaveHappened, next } = outcome.failure;
  if (!isSent && mayHaveHappened === true) return `a call that was not sent has an unknown outcome (${code})`;
  // The usual advice for a change that is too large to show is to split it. A PUT replaces a whole thing and cannot be split, so it must have
  // advice of its own (`ifTooLarge`).
  const { method, change } = call.operation;
  if (code === 'TooLargeToShow' && change?.ifTooLarge === undefined && method === 'PUT') {
    const [quotedAdvice] = next.text.text.split('.');
    return `change.ifTooLarge: is missing. With its largest arguments it cannot be shown, and "${quotedAdvice}" does not fit a PUT`;
  }
  // Any other failure is right, because most of the calls have wrong arguments or replies.
  return undefined;
}

/** Returns a made-up secret for every name, because a check reads no files. */
export const madeUpSecrets: SecretFiles = { read: async () => ({ kind: 'secret', text: 'made-up-secret' }) };

/**
 * Makes a call with one account, which needs no network, no journal and no files. All IDs, nonces and times are the same. The user agrees to
 * every question.
 */
async function callOffline({ operation, args, reply, confirm = 'off', operations = [] }: ProbeCall) {
  let isSent = false;
  const openClient: OpenClient = () => ({
    send: async () => {
      isSent = true;
      return reply;
    },
    [Symbol.dispose]: () => undefined,
  });
  const account = accountWith(confirm);
  const { call } = createCalls({
    accounts: { all: [account], byDefault: account, areNamed: false },
    operations: [operation, ...operations.filter(({ name }) => name !== operation.name)],
    openClient,
    store: probeStore(),
    inFlight: createInFlightCalls(),
    secretFiles: madeUpSecrets,
    now: () => probeTime,
    newId: () => 'probe',
    keys: () => ['probe'],
    pendingNotes: async () => [],
    questions: createQuestionQueue(),
    questionLimits,
    planLifetimeMs: 0,
    statusWaitMs: 0,
    log: () => undefined,
  });
  const outcome = await call(operation, args, {
    signal: new AbortController().signal,
    client: 'probe',
    elicitor: { isDirect: true, ask: async () => ({ kind: 'agreed' }) },
  });
  return { outcome, isSent };
}

const endpoint = 'https://api.example.com';
const keys = fixedKeys({ accessKeyId: 'probe', secretAccessKey: 'probe' });

const accountWith = (confirm: ConsentMode): Account => ({
  name: defaultAccount,
  cloud: async () => ({
    account: defaultAccount,
    region: 'jp-east-1',
    keys,
    // The name of the API does not matter: every name has this endpoint.
    endpoints: new Proxy({}, { get: () => endpoint }),
    signingServices: {},
    storageHeaders: 'amz',
  }),
  policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
  confirm,
});

const probeTime = new Date('2026-01-01T00:00:00Z');

/** A store for the one change of a call, which is kept nowhere. */
function probeStore(): Changes {
  let kept: Change | undefined;
  const keep = (change: Change) => {
    kept = change;
    return change;
  };
  const none = async () => [];
  return {
    add: async (change, { approved }) => {
      const times = { madeAt: 0, expiresAt: 0, isExpired: false, ageMs: 0, decidedAt: probeTime.getTime() };
      const state = approved === undefined ? 'waiting' : 'approved';
      return { kind: 'added', replaced: false, change: keep({ ...change, ...times, state, decision: approved }) };
    },
    find: async () => kept,
    decide: async (_id, decision) => {
      if (kept === undefined) return { kind: 'gone' };
      return { kind: 'decided', change: keep({ ...kept, state: decision.kind, decision }) };
    },
    begin: async () => (kept === undefined ? { kind: 'notApproved' } : { kind: 'begun', change: kept }),
    end: async () => undefined,
    duplicateOf: async () => undefined,
    budgetState: async () => ({ left: 1, nextAt: undefined }),
    waiting: none,
    newest: none,
    open: none,
    declined: none,
    recover: none,
    healthCheck: none,
    isAnsweredByProgram: async () => false,
    countWaiting: async () => 0,
    count: async () => ({ changes: 0, unresolved: 0 }),
    read: async function* () {
      yield* [];
    },
    prune: async () => 0,
    erase: async () => undefined,
    unwritten: () => 0,
    close: async () => undefined,
  };
}

/** Bodies to try in replies with HTTP status 200. Most operations expect something else. */
const bodies: readonly string[] = [
  '{}',
  '[]',
  '[null]',
  '{"a":null,"b":[[]],"__proto__":{"c":1}}',
  '<A/>',
  '<A><B>1</B><B/></A>',
  '<Error><Code>InternalError</Code></Error>',
  '<html>sign in</html>',
  'text',
  '',
  '{"cut',
  '<cut',
];
const errorBody = '{"code":"Probe"}';
const errorStatuses = [400, 403, 404, 409, 500, 503];

/** Replies of a service: first a success in the format that the operation expects, then unusual bodies and errors. */
function probeReplies({ answer }: Operation): [FinalReply, ...FinalReply[]] {
  const expected: Readonly<Record<Operation['answer'], Body>> = {
    json: { kind: 'json', value: {} },
    jsonText: { kind: 'json', value: {} },
    xml: { kind: 'xml', value: { Answer: { Field: 'a' } } },
    xmlText: { kind: 'xml', value: { Answer: { Field: 'a' } } },
    text: { kind: 'text', text: 'text' },
    none: { kind: 'empty' },
  };
  return [
    replyOf(200, expected[answer], answer === 'xmlText' ? '<Answer><Field>a</Field></Answer>' : 'text'),
    ...bodies.map((body) => replyOf(200, parseBody(body), body)),
    ...errorStatuses.map((status) => replyOf(status, parseBody(errorBody), errorBody)),
  ];
}

const replyOf = (status: number, body: Body, text: string): FinalReply => ({
  kind: 'answered',
  response: { kind: 'response', status, headers: { date: 'Thu, 01 Jan 2026 00:00:00 GMT' } },
  body,
  readText: async (read) => read(text),
  attempts: [{ result: String(status) }],
  endedAt: probeTime,
  keyId: 'probe',
});
