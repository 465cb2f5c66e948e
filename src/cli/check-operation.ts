import type { Account } from '../calls/account.js';
import { createCallTool } from '../calls/call-tool.js';
import type { CallContext } from '../calls/context.js';
import { createInFlightCalls } from '../calls/in-flight.js';
import { resultText } from '../calls/result-text.js';
import { createPlans } from '../consent/plans.js';
import { createQuestionQueue } from '../consent/question-queue.js';
import { createRefusals } from '../consent/refusals.js';
import type { ConsentMode } from '../consent/required-consent.js';
import { InvalidToken } from '../consent/tokens.js';
import type { Journal } from '../journal/journal.js';
import { createMemoryPlanStore } from '../journal/plan-store.js';
import { questionLimits } from '../mcp/client-quirks.js';
import { createDefinitionParser } from '../operations/definition-schema.js';
import { largestArguments, probeArguments, probeRecords } from '../operations/probe-values.js';
import { fixedKeys } from '../signing/keys.js';
import { type ExampleInput, exampleOf, type Operation } from '../tools/define-operation.js';
import { OperationFault } from '../tools/operation-fault.js';
import { type Body, parseBody } from '../transport/parse-body.js';
import { defaultAccount } from '../transport/request.js';
import type { FinalReply, OpenClient } from '../transport/signed-client.js';
import { withValueAt } from '../util/objects.js';
import { exact, type SafeText, say, words } from '../util/safe-text.js';

/**
 * Makes calls of an operation without sending anything: with arguments that are missing, wrong or as large as allowed, and with replies
 * that are empty, unusual, incomplete or always the same page. Returns a sentence for each fault of a function and each wrong outcome.
 */
export async function checkOperation(operation: Operation): Promise<string[]> {
  const problems = new Set<string>();
  const { schemas: _, ...definition } = operation;
  const guarded = createDefinitionParser({ failed: ({ message }) => problems.add(message) })(definition);
  if (guarded.kind === 'problems') return guarded.problems.map((problem) => `${operation.name}: ${problem}`);
  try {
    const example = exampleOf(guarded.operation);
    if (example === undefined)
      return [
        `${operation.name}: example: is missing, and no text that was tried matches the patterns of the arguments`,
      ];
    for (const call of probeCalls(guarded.operation, example)) {
      const problem = await probeCall(call);
      if (problem !== undefined) problems.add(`${operation.name}: ${problem}`);
    }
  } catch (error) {
    // The observer has reported the fault. Without rules for its arguments, the operation cannot be called further.
    if (!(error instanceof OperationFault)) throw error;
  }
  return [...problems];
}

/** Makes the example's call with a usual answer that is made up. Returns the result as an agent reads it. */
export async function exampleAnswer(operation: Operation, example: ExampleInput): Promise<SafeText[]> {
  const [reply] = probeReplies(operation);
  const [complete] = probeRecords(operation);
  // Every list of the record has entries, but usually no entry fails.
  const record = operation.failures === undefined ? complete : withValueAt(complete, operation.failures, () => []);
  const openClient: OpenClient = () => ({ send: async () => reply, [Symbol.dispose]: () => undefined });
  const answering: Operation = { ...operation, extract: () => record, ...onePage(operation) };
  const outcome = await callTool(openClient, 'off')(answering, example, context());
  if (outcome.kind === 'inputRequired') return [];
  const text = resultText(outcome.kind === 'succeeded' ? outcome.success : outcome.failure);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => say`${exact(line)}`);
}

/** Limits an operation to the first page, because every page of the made-up reply is the same. */
function onePage({ pages }: Operation): Pick<Operation, 'pages'> {
  if (pages === undefined) return {};
  const add: typeof pages.add = (...page) => {
    const step = pages.add(...page);
    return step.kind === 'next' ? { kind: 'end', state: step.state } : step;
  };
  return { pages: { ...pages, add } };
}

interface ProbeCall {
  readonly operation: Operation;
  readonly args: unknown;
  readonly reply: FinalReply;
  readonly confirm?: ConsentMode;
}

/** @throws OperationFault if the rules for arguments or answers throw */
function* probeCalls(operation: Operation, example: ExampleInput): Generator<ProbeCall> {
  const [success, ...otherReplies] = probeReplies(operation);
  const [record, ...otherRecords] = probeRecords(operation);
  const answering = (value: unknown): Operation => ({ ...operation, extract: () => value });
  const usual = { operation: answering(record), reply: success };
  const isChange = operation.effect !== 'read';
  for (const args of probeArguments(operation, example)) {
    // Of a change with wrong arguments, a plan is asked for: its answer has the hints for the other arguments, too.
    if (!isChange || operation.input().safeParse(args).success) yield { ...usual, args };
    if (isChange) yield { ...usual, args: { ...args, planOnly: true } };
  }
  const largest = largestArguments(operation, example);
  yield { ...usual, args: largest };
  if (isChange) yield { ...usual, args: largest, confirm: 'ask' };
  for (const value of otherRecords) yield { operation: answering(value), args: example, reply: success };
  for (const reply of [success, ...otherReplies]) yield { operation, args: example, reply };
}

/** Makes a call. Returns the problem with its outcome, if there is any. The observer of the operation reports faults of functions. */
async function probeCall({ operation, args, reply, confirm = 'off' }: ProbeCall): Promise<string | undefined> {
  let sent = 0;
  const openClient: OpenClient = () => ({
    send: async () => {
      sent += 1;
      return reply;
    },
    [Symbol.dispose]: () => undefined,
  });
  const outcome = await callTool(openClient, confirm)(operation, args, context()).catch((error: unknown) => {
    if (error instanceof Error) return error;
    throw error;
  });
  if (outcome instanceof Error) return `a call threw ${outcome.name}`;
  if (outcome.kind !== 'failed') return undefined;
  const { code, mayHaveHappened, next } = outcome.failure;
  if (sent === 0 && mayHaveHappened === true) return `a call that was not sent has an unknown outcome (${code})`;
  const isReplacement = operation.method === 'PUT' && operation.change?.ifTooLarge === undefined;
  if (code === 'TooLargeToShow' && isReplacement)
    return `change.ifTooLarge: is missing. With its largest arguments it cannot be shown, and "${next.text.text.split('.')[0]}" does not fit a PUT`;
  return undefined;
}

const endpoint = 'https://api.example.com';
const keys = fixedKeys({ accessKeyId: 'probe', secretAccessKey: 'probe' });

const accountWith = (confirm: ConsentMode): Account => ({
  name: defaultAccount,
  cloud: async () => ({
    account: defaultAccount,
    region: 'jp-east-1',
    keys,
    // Every API has an endpoint.
    endpoints: new Proxy({}, { get: () => endpoint }),
    signingServices: {},
    storageHeaders: 'amz',
  }),
  policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
  confirm,
});

function callTool(openClient: OpenClient, confirm: ConsentMode) {
  const account = accountWith(confirm);
  return createCallTool({
    accounts: { all: [account], byDefault: account, areNamed: false },
    operations: [],
    openClient,
    journal: nullJournal,
    refusals: createRefusals(
      nullJournal,
      () => probeTime,
      () => 'probe',
      () => undefined,
    ),
    inFlight: createInFlightCalls(),
    secretFiles: { read: async () => ({ kind: 'problem', problem: words('a check has no secrets') }) },
    now: () => probeTime,
    newId: () => 'probe',
    process: { pid: 0, host: 'probe' },
    pendingNotices: async () => [],
    questions: createQuestionQueue(),
    questionLimits,
    plans: createPlans({ store: createMemoryPlanStore(), keys: () => ['probe'], now: () => probeTime, lifetimeMs: 0 }),
    statusWaitMs: 0,
    newNonce: () => 'probe',
    log: () => undefined,
  });
}

const probeTime = new Date('2026-01-01T00:00:00Z');

/** The context of a caller who agrees to everything. */
const context = (): CallContext => ({
  signal: new AbortController().signal,
  client: 'probe',
  elicitor: { isDirect: true, ask: async () => ({ kind: 'agreed' }) },
  tokens: {
    issue: () => 'probe',
    verify: noPlan,
    read: noPlan,
  },
});

function noPlan(): never {
  throw new InvalidToken('forged');
}

/** A journal that keeps nothing. */
const nullJournal: Journal = {
  healthCheck: async () => [],
  unwritten: () => 0,
  findDuplicate: async () => undefined,
  findByNonce: async () => undefined,
  begin: async () => ({ kind: 'begun' }),
  budgetState: async () => ({ left: 1 }),
  end: async () => undefined,
  decline: async () => true,
  listDeclined: async () => [],
  list: async () => [],
  listUnfinished: async () => [],
  read: async function* () {
    yield* [];
  },
  close: async () => undefined,
};

/** Bodies of successful replies, most of them wrong. */
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
