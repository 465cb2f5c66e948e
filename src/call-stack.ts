import { type AccountResolution, resolveAccount } from './calls/account.js';
import { createSecretFiles } from './calls/call-secrets.js';
import { type CallContext, unlessStopped } from './calls/context.js';
import { faultFacts, refusalOfError, serverFault } from './calls/failure.js';
import type { CallOutcome, EndedOutcome } from './calls/outcome.js';
import { createReadCounts } from './calls/read-limits.js';
import { Refusal, refusalAfter, refusalFailure } from './calls/refusal.js';
import { resolveCall } from './calls/resolve-call.js';
import { outcomeLabel } from './calls/result-text.js';
import { runRead } from './calls/run-read.js';
import { carryOut } from './changes/carry-out.js';
import type { Change } from './changes/change.js';
import type { ChangeDependencies, ChangeRun } from './changes/change-run.js';
import { outcomeOfState } from './changes/change-state.js';
import { withFields } from './changes/conclude-change.js';
import {
  awaitEnd,
  type Click,
  clickOnChange,
  confirmChange,
  type DecisionResult,
  findByProof,
  findChange,
  withdrawChange,
} from './changes/decide.js';
import { followToEnd } from './changes/follow-to-end.js';
import { runChange, takeBrought } from './changes/run-change.js';
import type { Operation } from './tools/define-operation.js';
import type { Proxies } from './transport/connections.js';
import { createHttpClient, defaultLimits } from './transport/http-client.js';
import { createSignedClients, type SignedClientDependencies } from './transport/signed-client.js';
import { type Log, reasonOf } from './util/log.js';

/** This file puts together what only calls need. src/runtime.ts loads it at the first call. */

/** Carries out one call. Never rejects because of bad input or the network. */
export type CallTool = (operation: Operation, args: unknown, context: CallContext) => Promise<CallOutcome>;

/** What can be done with a change by its ID. Never rejects. */
export interface ChangeTools {
  get(id: string, context: CallContext): Promise<EndedOutcome>;
  withdraw(id: string, context: CallContext): Promise<EndedOutcome>;
  confirm(confirmed: { readonly id: string; readonly thing: string }, context: CallContext): Promise<EndedOutcome>;
  /** Decides by a click. Whether the person may see the change is checked before. */
  click(change: Change, click: Click, context: CallContext): Promise<DecisionResult>;
  /** Goes on with a change of several things whose process has ended. */
  resume(change: Change): Promise<EndedOutcome>;
  /** Finds the change whose proof a view brings back. */
  findByProof(proof: string, context: CallContext): Promise<Change | Refusal>;
  /** A change of the caller as it is now, in the cloud too. */
  look(id: string, context: CallContext): Promise<SeenChange | Refusal>;
  /** The outcome for a view or a page. Waits for the end of a decided change. */
  state(change: Change, context: CallContext): Promise<EndedOutcome>;
}

export interface SeenChange {
  readonly kind: 'seen';
  readonly change: Change;
  /** True if the cloud has accepted the change, and not finished it. */
  readonly isGoing: boolean;
  readonly outcome: EndedOutcome;
}

/** The dependencies of calls that `createCallStack` does not make. */
export type CallingDependencies = Omit<OpenedDependencies, 'openClient' | 'secretFiles'>;

type OpenedDependencies = Omit<ChangeDependencies, 'callRead' | 'heldArguments' | 'startCount'>;

export interface CallStackOptions extends CallingDependencies, Omit<SignedClientDependencies, 'httpClient'> {
  readonly proxies: Proxies;
  readonly secretsDir: string | undefined;
}

/** Carries out calls, and keeps the connections that they share. */
export interface CallStack {
  readonly call: CallTool;
  readonly changes: ChangeTools;
  close(): Promise<void>;
}

export function createCallStack(options: CallStackOptions): CallStack {
  const httpClient = createHttpClient(options.proxies, { ...defaultLimits, headersMs: options.timeoutMs });
  const openClient = createSignedClients({ ...options, httpClient });
  const secretFiles = createSecretFiles(options.secretsDir);
  return { ...createCalls({ ...options, openClient, secretFiles }), close: () => httpClient.close() };
}

/** Creates the functions that carry out calls. Every error becomes a failed outcome, and every outcome is logged. */
export function createCalls(options: OpenedDependencies): Pick<CallStack, 'call' | 'changes'> {
  const { accounts, log } = options;
  const callRead: ChangeDependencies['callRead'] = async (operation, args, context) => {
    const outcome = await callTool(operation, args, context);
    // Only for the type: a read never asks its user.
    return outcome.kind === 'inputRequired' ? failed(operation, new Refusal('NeedsHuman'), log) : outcome;
  };
  const startCount = createReadCounts();
  const dependencies: ChangeDependencies = { ...options, heldArguments: new Map(), callRead, startCount };
  const runOf = ({ wait = (work) => work(), ...rest }: CallContext): ChangeRun => ({ ...dependencies, ...rest, wait });

  const carryOutCall = async (operation: Operation, resolution: AccountResolution, run: ChangeRun) => {
    const taken = await takeBrought(run);
    if (taken !== undefined && taken.kind !== 'notAsked') return taken;
    const call = await resolveCall(operation, resolution, run);
    return call.kind === 'read' ? runRead(call, run) : runChange(call, run, taken?.change);
  };

  /** Logs the outcome of a tool. A refusal and an unexpected error become failures. */
  const ended = async <Outcome extends CallOutcome>(
    tool: Called,
    { principal }: CallContext,
    result: Promise<Outcome | Refusal>,
    account?: string,
  ): Promise<Outcome | EndedOutcome> => {
    const outcome = await result
      .then((given) => (given.kind === 'refused' ? failed(tool, given, log) : given))
      .catch((error: unknown) => failed(tool, error, log));
    logOutcome(log, tool.name, account, outcome, principal?.name);
    return outcome;
  };

  const callTool: CallTool = async (operation, args, context) => {
    const { stop, signal, principal } = context;
    const resolution = resolveAccount(accounts, operation, args, principal);
    const account = resolution.kind === 'found' ? resolution.name : undefined;
    const work = (workSignal: AbortSignal) =>
      carryOutCall(operation, resolution, runOf({ ...context, signal: workSignal }));
    // A read is given up at once at a shutdown, because it changes nothing.
    const isStoppable = operation.effect === 'read' && stop !== undefined;
    const result = isStoppable ? unlessStopped(stop, work, signal) : work(signal);
    const outcome = await ended(operation, context, result, account);
    return account === undefined || outcome.kind === 'inputRequired'
      ? outcome
      : withFields(outcome, () => ({ account }));
  };

  /** Finds the change that a tool is called for. */
  const changeTool = (
    name: string,
    id: string,
    context: CallContext,
    work: (change: Change, run: ChangeRun) => Promise<EndedOutcome | Refusal>,
  ): Promise<EndedOutcome> => {
    const run = runOf(context);
    const found = findChange(id, run, { mayBeOfOthers: name === 'get_change' });
    const result = found.then((change) => (change instanceof Refusal ? change : work(change, run)));
    return ended({ name, effect: 'alter' }, context, result);
  };

  const changes: ChangeTools = {
    get: (id, context) =>
      changeTool('get_change', id, context, async (change, run) => outcomeOfState(await awaitEnd(change, run), run)),
    withdraw: (id, context) => changeTool('withdraw_change', id, context, withdrawChange),
    confirm: ({ id, thing }, context) =>
      changeTool('confirm_change', id, context, (change, run) => confirmChange(change, thing, run)),
    click: async (change, click, context) => {
      const { tool } = change;
      const decided = await clickOnChange(change, click, runOf(context)).catch((error: unknown) =>
        refusalOfError(error, { name: tool }, log),
      );
      if (decided.kind === 'decided') logOutcome(log, tool, undefined, decided.outcome, context.principal?.name);
      return decided;
    },
    resume: (change) => {
      const { caller: name, personId, scopes = [], agent, client } = change;
      const principal = name === undefined ? undefined : { name, personId, scopes, agent };
      const context = { client: { name: client }, principal, signal: new AbortController().signal };
      return changeTool(change.tool, change.id, context, carryOut);
    },
    findByProof: (proof, context) => findByProof(proof, runOf(context)),
    look: async (id, context) => {
      const run = runOf(context);
      const change = await findChange(id, run);
      if (change instanceof Refusal) return change;
      const outcome = outcomeOfState(change, run);
      const followed = await followToEnd(change, outcome, run).catch((error: unknown) => {
        log('error', 'journal', { id, error: reasonOf(error) });
        return new Refusal('StateUnavailable', [], { changeId: id });
      });
      return followed instanceof Refusal ? followed : { kind: 'seen', change, isGoing: false, outcome, ...followed };
    },
    state: async (change, context) => {
      const run = runOf(context);
      return outcomeOfState(change.state === 'waiting' ? change : await awaitEnd(change, run), run);
    },
  };
  return { call: callTool, changes };
}

function logOutcome(
  log: Log,
  tool: string,
  account: string | undefined,
  outcome: CallOutcome,
  caller: string | undefined,
): void {
  const failure = outcome.kind === 'failed' ? outcome.failure : undefined;
  const { changeId: id } = failure ?? (outcome.kind === 'succeeded' ? outcome.success : {});
  const about = {
    ok: failure === undefined,
    outcome: outcomeLabel(outcome),
    ...(failure && { code: failure.code, mayHaveHappened: failure.mayHaveHappened ?? false }),
  };
  log(failure?.mayHaveHappened ? 'warn' : 'info', 'call', { tool, account, ...about, caller, id });
}

type Called = Pick<Operation, 'name' | 'effect'>;

/** A change that throws was not sent, because nothing throws after the first byte. */
function failed(tool: Called, error: unknown, log: Log): EndedOutcome {
  const isChange = tool.effect !== 'read';
  if (isChange || refusalAfter(error) !== undefined)
    return { kind: 'failed', failure: refusalFailure(tool.name, refusalOfError(error, tool, log), { isChange }) };
  log('error', 'unexpected', faultFacts(tool, error));
  return { kind: 'failed', failure: serverFault({ operation: tool }, error) };
}
