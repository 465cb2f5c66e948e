import type { Account } from '../calls/account.js';
import { createCallTool } from '../calls/call-tool.js';
import type { CallContext } from '../calls/context.js';
import { createInFlightCalls } from '../calls/in-flight.js';
import { createPlans } from '../consent/plans.js';
import { createQuestionQueue } from '../consent/question-queue.js';
import { createRefusals } from '../consent/refusals.js';
import type { ConsentMode } from '../consent/required-consent.js';
import { InvalidToken } from '../consent/tokens.js';
import type { Journal } from '../journal/journal.js';
import { createMemoryPlanStore } from '../journal/plan-store.js';
import { fixedKeys } from '../signing/keys.js';
import type { Operation } from '../tools/define-operation.js';
import { OperationFault } from '../tools/operation-fault.js';
import { defaultAccount } from '../transport/request.js';
import type { FinalReply, OpenClient } from '../transport/signed-client.js';
import { words } from '../util/safe-text.js';
import { guarded } from './guard.js';
import { Endless } from './run-with-limit.js';
import { trialRecords, trialReplies } from './trial-answers.js';
import { argumentTrials, largestArguments } from './trial-arguments.js';

/**
 * What every operation has to bear, tried with its real calls and nothing sent: arguments that are missing, wrong or as large as they
 * may be, and answers that are empty, odd, incomplete or the same page for ever. Answers with what breaks, one sentence each; a function
 * that does not end is the last of them.
 */
export async function contractProblems(given: Operation): Promise<string[]> {
  const problems = new Set<string>();
  let isOver = false;
  const report = ({ message, cause }: OperationFault) => {
    problems.add(message);
    isOver ||= cause instanceof Endless;
  };
  const operation = guarded(given, { report });
  const add = (problem: string) => problems.add(`${operation.name}: ${problem}`);
  await tryAll(operation, add, () => isOver).catch((error: unknown) => {
    if (!(error instanceof OperationFault)) throw error;
  });
  return [...problems];
}

/** @throws OperationFault for a fault in the rules of arguments */
async function tryAll(operation: Operation, add: (problem: string) => void, isOver: () => boolean): Promise<void> {
  const { example } = operation;
  const good = trialRecords(operation).at(0) ?? {};
  const answering = (record: unknown): Operation => ({ ...operation, extract: () => record });
  const plain = trialReplies(operation)[0];
  if (plain === undefined) return;
  const check = async (tried: Operation, args: unknown, reply: FinalReply, setting: ConsentMode = 'off') => {
    const problem = isOver() ? undefined : await tryCall(tried, args, reply, setting);
    if (problem !== undefined) add(problem);
  };
  const isChange = operation.effect !== 'read';
  for (const args of argumentTrials(operation)) {
    await check(answering(good), args, plain);
    if (isChange) await check(answering(good), { ...args, planOnly: true }, plain);
  }
  if (isOver()) return;
  const largest = largestArguments(operation);
  await check(answering(good), largest, plain);
  if (isChange) await check(answering(good), largest, plain, 'ask');
  for (const record of trialRecords(operation)) await check(answering(record), example, plain);
  for (const reply of trialReplies(operation)) await check(operation, example, reply);
}

/** The problem with a call and its outcome, if there is one. Faults of functions are reported by themselves. */
async function tryCall(
  operation: Operation,
  args: unknown,
  reply: FinalReply,
  confirm: ConsentMode,
): Promise<string | undefined> {
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
    return `change.ifTooLarge: is missing. With its largest arguments it cannot be shown, and "${next.text.split('.')[0]}" does not fit a PUT`;
  return undefined;
}

const endpoint = 'https://api.example.com';
const keys = fixedKeys({ accessKeyId: 'trial', secretAccessKey: 'trial' });

const accountWith = (confirm: ConsentMode): Account => ({
  name: defaultAccount,
  cloud: async () => ({
    account: defaultAccount,
    region: 'jp-east-1',
    keys,
    // Whatever API it is of.
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
    openClient,
    journal: forgetful,
    refusals: createRefusals(
      forgetful,
      () => trialTime,
      () => 'trial',
      () => undefined,
    ),
    inFlight: createInFlightCalls(),
    secretFiles: { read: async () => ({ kind: 'problem', problem: words('there are no secrets in a trial') }) },
    now: () => trialTime,
    newId: () => 'trial',
    process: { pid: 0, host: 'trial' },
    pendingNotices: async () => [],
    questions: createQuestionQueue(),
    plans: createPlans({ store: createMemoryPlanStore(), keys: () => ['trial'], now: () => trialTime, lifetimeMs: 0 }),
    statusWaitMs: 0,
    newNonce: () => 'trial',
    log: () => undefined,
  });
}

const trialTime = new Date('2026-01-01T00:00:00Z');

/** A caller who agrees to everything. */
const context = (): CallContext => ({
  signal: new AbortController().signal,
  client: 'trial',
  elicitor: { isDirect: true, ask: async () => 'agreed' },
  tokens: {
    issue: () => 'trial',
    verify: noPlan,
    read: noPlan,
  },
});

function noPlan(): never {
  throw new InvalidToken('forged');
}

/** A trial leaves nothing behind. */
const forgetful: Journal = {
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
