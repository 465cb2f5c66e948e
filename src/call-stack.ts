import { type AccountResolution, resolveAccount } from './calls/account.js';
import type { CallContext } from './calls/context.js';
import { unlessStopped } from './calls/context.js';
import { refusalAfter } from './calls/endpoint.js';
import { faultFacts, mistakeRefusal, serverFault } from './calls/failure.js';
import { createSecretFiles } from './calls/insert-secrets.js';
import type { CallOutcome, EndedOutcome } from './calls/outcome.js';
import { outcomeLabel } from './calls/outcome-label.js';
import { createReadCounts } from './calls/read-limits.js';
import { Refusal, refusalFailure, refusedChange } from './calls/refusal.js';
import { resolveCall } from './calls/resolve-call.js';
import { runRead } from './calls/run-read.js';
import { carryOut } from './changes/carry-out.js';
import type { Change } from './changes/change.js';
import type { ChangeContext, ChangeDependencies, ChangeRun } from './changes/change-context.js';
import { outcomeOfState } from './changes/change-state.js';
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
import { errorName, reasonOf } from './util/log.js';

/** This file puts together what only calls need. src/runtime.ts loads it at the first call. */

/** Carries out one call. Never rejects because of bad input or the network. */
export type CallTool = (operation: Operation, args: unknown, context: ChangeContext) => Promise<CallOutcome>;

/** What can be done with a change by its ID. Never rejects. */
export interface ChangeTools {
  get(id: string, context: ChangeContext): Promise<EndedOutcome>;
  withdraw(id: string, context: ChangeContext): Promise<EndedOutcome>;
  confirm(confirmed: { readonly id: string; readonly thing: string }, context: ChangeContext): Promise<EndedOutcome>;
  /** Decides by a click. Whether the person may see the change is checked before. */
  click(change: Change, click: Click, context: ChangeContext): Promise<DecisionResult>;
  /** Goes on with a change of several things whose process has ended. */
  resume(change: Change): Promise<EndedOutcome>;
  /** Finds the change whose proof a view brings back. */
  findByProof(proof: string, context: ChangeContext): Promise<Change | Refusal>;
  /** A change of the caller as it is now, in the cloud too. */
  look(id: string, context: ChangeContext): Promise<SeenChange | Refusal>;
  /** The outcome for a view or a page. Waits for the end of a decided change. */
  state(change: Change, context: ChangeContext): Promise<EndedOutcome>;
}

export interface SeenChange {
  readonly kind: 'seen';
  readonly change: Change;
  /** True if the cloud has accepted the change, and not finished it. */
  readonly isGoing: boolean;
  readonly outcome: EndedOutcome;
}

/** The dependencies of calls that `createCallStack` does not make. */
export type CallingDependencies = Omit<ChangeDependencies, 'openClient' | 'secretFiles' | 'callRead' | 'heldArguments'>;

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
export function createCalls(
  options: Omit<ChangeDependencies, 'callRead' | 'heldArguments'>,
): Pick<CallStack, 'call' | 'changes'> {
  const startCount = createReadCounts();
  const callRead = async (operation: Operation, args: unknown, context: CallContext): Promise<EndedOutcome> => {
    const outcome = await callTool(operation, args, context);
    // Only for the type: a read never asks its user.
    return outcome.kind === 'inputRequired' ? failed(operation, new Refusal('NeedsHuman'), options) : outcome;
  };
  const dependencies: ChangeDependencies = { ...options, heldArguments: new Map(), callRead };
  const runOf = (context: ChangeContext): ChangeRun => ({ ...dependencies, ...context });

  const run = async (operation: Operation, resolution: AccountResolution, context: ChangeContext) => {
    const { brought = { kind: 'nothing' } } = context;
    const taken = brought.kind === 'nothing' ? undefined : await takeBrought(brought, runOf(context));
    if (taken !== undefined && taken.kind !== 'notAsked') return taken;
    const call = await resolveCall(operation, resolution, context, dependencies);
    return call.kind === 'read'
      ? runRead(call, { ...dependencies, ...context, startCount })
      : runChange(call, runOf(context), taken?.change);
  };

  /** A read is given up at once at a shutdown, because it changes nothing. */
  const runUntilStop = (operation: Operation, resolution: AccountResolution, context: ChangeContext) =>
    unlessStopped(context.stop, (signal) => run(operation, resolution, { ...context, signal }), context.signal);

  const callTool: CallTool = async (operation, args, context) => {
    const resolution = resolveAccount(dependencies.accounts, operation, args, context.principal);
    const isRead = operation.effect === 'read' && context.stop !== undefined;
    const result = await (isRead ? runUntilStop : run)(operation, resolution, context).catch((error) =>
      failed(operation, error, dependencies),
    );
    const outcome = result.kind === 'refused' ? failed(operation, result, dependencies) : result;
    const account = resolution.kind === 'found' ? resolution.name : undefined;
    logCall(operation.name, account, outcome, context, dependencies);
    if (account === undefined || outcome.kind === 'inputRequired') return outcome;
    return outcome.kind === 'failed'
      ? { ...outcome, failure: { ...outcome.failure, account } }
      : { ...outcome, success: { ...outcome.success, account } };
  };

  /** Finds the change that a tool is called for. A refusal and an unexpected error become failures of the tool. */
  const changeTool = async (
    name: string,
    id: string,
    context: ChangeContext,
    work: (change: Change, run: ChangeRun) => Promise<EndedOutcome | Refusal>,
  ): Promise<EndedOutcome> => {
    const run = runOf(context);
    const result = await findChange(id, run, { mayBeOfOthers: name === 'get_change' })
      .then((change) => (change instanceof Refusal ? change : work(change, run)))
      .catch((error: unknown) => refusalOf(name, error, dependencies));
    const outcome = result.kind === 'refused' ? refusedChange(name, result) : result;
    logCall(name, undefined, outcome, context, dependencies);
    return outcome;
  };

  const changes: ChangeTools = {
    get: (id, context) =>
      changeTool('get_change', id, context, async (change, run) => outcomeOfState(await awaitEnd(change, run), run)),
    withdraw: (id, context) => changeTool('withdraw_change', id, context, withdrawChange),
    confirm: ({ id, thing }, context) =>
      changeTool('confirm_change', id, context, (change, run) => confirmChange(change, thing, run)),
    click: async (change, click, context) => {
      const decided = await clickOnChange(change, click, runOf(context)).catch((error: unknown) =>
        refusalOf(change.tool, error, dependencies),
      );
      if (decided.kind === 'decided') logCall(change.tool, undefined, decided.outcome, context, dependencies);
      return decided;
    },
    resume: (change) => {
      const { caller: name, personId, scopes = [], agent, client } = change;
      const principal = name === undefined ? undefined : { name, personId, scopes, agent };
      const context = { client, principal, signal: new AbortController().signal };
      return changeTool(change.tool, change.id, context, carryOut);
    },
    findByProof: (proof, context) => findByProof(proof, runOf(context)),
    look: async (id, context) => {
      const change = await findChange(id, runOf(context));
      if (change instanceof Refusal) return change;
      const outcome = outcomeOfState(change, runOf(context));
      const followed = await followToEnd(change, outcome, runOf(context)).catch((error: unknown) => {
        dependencies.log('error', 'journal', { id, error: reasonOf(error) });
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

function logCall(
  tool: string,
  account: string | undefined,
  outcome: CallOutcome,
  { principal }: ChangeContext,
  { log }: Pick<ChangeDependencies, 'log'>,
): void {
  const failure = outcome.kind === 'failed' ? outcome.failure : undefined;
  const { changeId: id } = failure ?? (outcome.kind === 'succeeded' ? outcome.success : {});
  const about = {
    ok: failure === undefined,
    outcome: outcomeLabel(outcome),
    ...(failure && { code: failure.code, mayHaveHappened: failure.mayHaveHappened ?? false }),
  };
  log(failure?.mayHaveHappened ? 'warn' : 'info', 'call', { tool, account, ...about, caller: principal?.name, id });
}

/** A change that throws was not sent, because nothing throws after the first byte. */
function failed(operation: Operation, error: unknown, { log }: Pick<ChangeDependencies, 'log'>): EndedOutcome {
  const isChange = operation.effect !== 'read';
  const refusal = refusalAfter(error);
  if (refusal === undefined) log('error', 'unexpected', faultFacts(operation, error));
  if (refusal === undefined && !isChange) return { kind: 'failed', failure: serverFault({ operation }, error) };
  return { kind: 'failed', failure: refusalFailure(operation.name, refusal ?? mistakeRefusal(error), { isChange }) };
}

function refusalOf(tool: string, error: unknown, { log }: Pick<ChangeDependencies, 'log'>): Refusal {
  const refusal = refusalAfter(error);
  if (refusal === undefined) log('error', 'unexpected', { tool, error: errorName(error) });
  return refusal ?? mistakeRefusal(error);
}
