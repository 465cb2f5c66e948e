import { unlessStopped } from '../consent/elicitor.js';
import type { EndedOutcome, Failure } from '../consent/outcome.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import type { Intent } from '../journal/entry.js';
import type { Operation } from '../tools/define-operation.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import type { Proxies } from '../transport/proxies.js';
import { createSignedClients, type SignedClientDependencies } from '../transport/signed-client.js';
import { join, own, say, time } from '../util/safe-text.js';
import { type AccountResolution, resolveAccount } from './account.js';
import type { CallContext, CallDependencies, CallOutcome, CallTool } from './context.js';
import { keysRefusal } from './endpoint.js';
import { faultFacts, mistakeRefusal, serverFault } from './failure.js';
import { createSecretFiles } from './insert-secrets.js';
import { outcomeLabel } from './outcome-label.js';
import { createReadMemoryLimit } from './read-memory-limit.js';
import { resolveCall } from './resolve-call.js';
import { runChange } from './run-change.js';
import { runRead } from './run-read.js';
import type { ResolvedChange } from './stages.js';

/** The dependencies of calls, without the two that `createCallStack` makes. */
export type CallingDependencies = Omit<CallDependencies, 'openClient' | 'secretFiles'>;

export interface CallStackOptions extends CallingDependencies, Omit<SignedClientDependencies, 'httpClient'> {
  readonly proxies: Proxies;
  readonly secretsDir: string | undefined;
}

/** Carries out calls, and keeps the connections that they share. */
export interface CallStack {
  readonly call: CallTool;
  close(): Promise<void>;
}

/** Makes the call stack. src/runtime.ts loads this file, and with it everything that only calls need, at the first call. */
export function createCallStack(options: CallStackOptions): CallStack {
  const httpClient = createHttpClient(options.proxies, { ...defaultLimits, headersMs: options.timeoutMs });
  const openClient = createSignedClients({ ...options, httpClient });
  const secretFiles = createSecretFiles(options.secretsDir);
  return { call: createCallTool({ ...options, openClient, secretFiles }), close: () => httpClient.close() };
}

/** Creates the function that carries out calls. Every error becomes a failed outcome, and every outcome is logged. */
export function createCallTool(dependencies: CallDependencies): CallTool {
  const readMemory = createReadMemoryLimit();

  const carryOut = async (operation: Operation, resolution: AccountResolution, context: CallContext) => {
    const call = await resolveCall(operation, resolution, context, dependencies);
    if (call.kind === 'read') return runRead(call, readMemory, context, dependencies);

    if (!showsPlan(call, context)) return runChange(call, context, dependencies);
    // The plan tells the present state of the thing that would change, so a read gets the state first.
    const callAfterRead = await runPreflight(call, callTool, context, dependencies.now);
    return callAfterRead.kind === 'failed' ? callAfterRead : runChange(callAfterRead, context, dependencies);
  };

  /** A read is given up at once when the server shuts down, because it changes nothing. */
  const readUntilStop = (operation: Operation, resolution: AccountResolution, context: CallContext) =>
    unlessStopped(context.stop, (signal) => carryOut(operation, resolution, { ...context, signal }), context.signal);

  const callTool: CallTool = async (operation, args, context) => {
    const resolution = resolveAccount(dependencies.accounts, operation, args, context.principal);
    const run = operation.effect === 'read' && context.stop !== undefined ? readUntilStop : carryOut;
    let intent: Intent | undefined;
    const onIntent = (begun: Intent) => {
      intent = begun;
    };
    const outcome = await run(operation, resolution, { ...context, onIntent }).catch((error) =>
      failed(operation, error, dependencies),
    );

    const account = resolution.kind === 'found' ? resolution.name : undefined;
    logCall({ tool: operation.name, account, id: intent?.id, target: intent?.target }, outcome, context, dependencies);
    return account === undefined ? outcome : withAccount(outcome, account);
  };
  return callTool;
}

/** Logs a call. For a change that began, also logs the ID and target of its journal entry, which a restored journal may lack. */
function logCall(
  { id, target, ...named }: Readonly<Record<'tool' | 'account' | 'id' | 'target', string | undefined>>,
  outcome: CallOutcome,
  { principal }: CallContext,
  { log }: CallDependencies,
): void {
  const { code, mayHaveHappened = false } = outcome.kind === 'failed' ? outcome.failure : {};
  const failure = outcome.kind === 'failed' && { code, mayHaveHappened };
  const fields = { ...named, ok: outcome.kind !== 'failed', outcome: outcomeLabel(outcome), ...failure };
  log(mayHaveHappened ? 'warn' : 'info', 'call', { ...fields, caller: principal?.name, id, target });
}

/** True if the call ends with a plan or a question. False if it decides on a plan that was shown before, or if the change needs no consent. */
const showsPlan = (
  { account: { confirm }, control: { planOnly, planId } }: ResolvedChange,
  { elicitor, click, lookAt, agreed }: CallContext,
) =>
  planId === undefined &&
  lookAt === undefined &&
  (planOnly || (click === undefined && elicitor?.resumedReply === undefined && agreed !== true && confirm !== 'off'));

/**
 * Makes the read that precedes a change, if the operation has such a read, and returns the call with a sentence about the answer. If the read
 * fails with an error after which the change would fail too, returns that failure. After any other error, the change goes on.
 * @throws Refusal `Stopping` on shutdown
 */
async function runPreflight(
  call: ResolvedChange,
  callTool: CallTool,
  context: CallContext,
  now: () => Date,
): Promise<ResolvedChange | Extract<EndedOutcome, { kind: 'failed' }>> {
  const { operation, input, accountName: account } = call;
  const { preflight } = operation;
  if (preflight === undefined) return call;

  const readArguments = preflight.input(input);
  const args = account === undefined ? readArguments : { ...readArguments, account };
  // The read reports no progress and draws no view, because these belong to the change.
  const { onPage: _, hasView: __, ...contextOfRead } = context;
  const outcome = await callTool(preflight.operation, args, contextOfRead);
  if (outcome.kind === 'succeeded') {
    const { summary, answer = {} } = outcome.success;
    const found = say`Found at ${time(now().toISOString())}: ${summary}`;
    return { ...call, found, alert: preflight.alert?.(answer) };
  }

  // This case is only for the type, because a read never asks the user.
  if (outcome.kind === 'inputRequired') return call;
  const { failure } = outcome;
  if (failure.code === 'Stopping') throw new Refusal('Stopping');
  if (codesOf(failure).some((code) => preflight.decisiveErrors?.includes(code))) {
    const summary = say`${own(operation.name)} was not sent. ${failure.summary}`;
    return { kind: 'failed', failure: { ...failure, summary, mayHaveHappened: false } };
  }
  const reason = join([failure.summary, ...failure.problems], ' ');
  return { ...call, found: say`What is there now is not known. ${reason}` };
}

/** The codes of a failure: this server's own, the cloud's, and that of the status, such as `Http404`. */
const codesOf = ({ code, serviceSays, status }: Failure) => [code, serviceSays?.code ?? code, `Http${status}`];

/** The failure of a call that threw. A change that throws was not sent, because `sendChange` throws nothing after the first byte. */
function failed(operation: Operation, error: unknown, { log }: CallDependencies): CallOutcome {
  const { name, effect } = operation;
  const isChange = effect !== 'read';
  const refusal = error instanceof Refusal ? error : keysRefusal(error);
  if (refusal !== undefined) return { kind: 'failed', failure: refusalFailure(name, refusal, { isChange }) };
  log('error', 'unexpected', faultFacts(operation, error));
  const failure = isChange
    ? refusalFailure(name, mistakeRefusal(error), { isChange })
    : serverFault({ operation }, error);
  return { kind: 'failed', failure };
}

function withAccount(outcome: CallOutcome, account: string): CallOutcome {
  if (outcome.kind === 'failed') return { ...outcome, failure: { ...outcome.failure, account } };
  if (outcome.kind === 'succeeded') return { ...outcome, success: { ...outcome.success, account } };
  return outcome;
}
