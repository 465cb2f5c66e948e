import type { ControlArguments } from '../consent/pending.js';
import type { PlannedCall } from '../consent/plan.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import type { ConsentMode } from '../consent/required-consent.js';
import type { Operation } from '../tools/define-operation.js';
import type { Admit } from '../transport/http-client.js';
import { textAt } from '../util/objects.js';
import { join, own, type Shown, said, say } from '../util/safe-text.js';
import { accountNameOf, resolveAccount } from './account.js';
import { budgetOf } from './check-budget.js';
import type { CallContext, CallDependencies, CallOutcome, CallTool } from './context.js';
import { keysRefusal, regionSourceOf, resolveEndpoint, wireRequest } from './endpoint.js';
import { serverFault } from './failure.js';
import { insertSecrets } from './insert-secrets.js';
import { checkPolicy, checkRegions, isAllowed } from './policy.js';
import { createReadRoom } from './read-memory-limit.js';
import { change } from './run-change.js';
import { read } from './run-read.js';
import { validate } from './validate.js';

/** Every call takes the same path: find the account, check policy, check arguments, resolve the endpoint, then read or change. */
export function createCallTool(dependencies: CallDependencies): CallTool {
  const { accounts, secretFiles, openClient } = dependencies;
  const room = createReadRoom();

  const carryOut: CallTool = async (operation, given, context) => {
    const directed = resolveAccount(accounts, operation, given, context.principal);
    if (directed.kind === 'unclear') throw withOtherProblems(directed.problem, operation, directed.args);
    const { account, args } = directed;
    const { policy, confirm } = account;
    checkPolicy(policy, operation, context.principal);
    const cloud = await account.cloud();
    const valid = validate(operation, args, cloud.region);
    const complete = await insertSecrets(operation, valid, secretFiles, cloud.region);
    const { planOnly, planId, allowRepeat, withdraw, ...input } = complete.input;

    const wanted = operation.request(input);
    const { region } = wanted;
    checkRegions(policy, region ?? cloud.region, input);
    const endpoint = resolveEndpoint(cloud, operation, region);
    const request = wireRequest(operation, wanted, endpoint);
    const secrets = (operation.secrets ?? []).map((path) => textAt(input, path));
    const open = (signal: AbortSignal, admit?: Admit) =>
      openClient(endpoint, {
        repeatable: operation.effect === 'read',
        secrets,
        signal,
        span: context.span,
        ...(admit !== undefined && { admit }),
      });

    const accountName = accounts.areNamed ? account.name : undefined;
    const mayRead = (other: Operation) => isAllowed(policy, other, context.principal);

    if (operation.change === undefined)
      return read({ operation, input, request, endpoint, accountName }, open, room, context, mayRead, dependencies.log);
    const steering: ControlArguments = {
      planOnly: planOnly === true,
      planId: typeof planId === 'string' ? planId : undefined,
      allowRepeat: allowRepeat === true,
      withdraw: withdraw === true,
    };
    const regionSource = regionSourceOf(cloud, region);
    const { secretNames } = complete;
    const { accessKeyId: keyId } = await endpoint.keys.current();
    const isShown = showsPlan(steering, context, confirm);
    const found = isShown
      ? await findBefore(callTool, { operation, input, accountName }, context, dependencies.now)
      : undefined;
    const { planOnly: _, planId: __, withdraw: ___, ...kept } = valid;
    const call = {
      ...{ operation, change: operation.change, input, request, endpoint },
      ...{ accountName, keyId, regionSource, found, secretNames },
      args: accountName === undefined ? kept : { ...kept, account: accountName },
    };
    const budget = budgetOf(cloud, account.budget, context.principal?.name);
    return change(call, { confirm, budget }, steering, open, context, dependencies);
  };

  const callTool: CallTool = async (operation, args, context) => {
    const outcome = await carryOut(operation, args, context).catch((error) => failed(operation, error, dependencies));
    const account = accountNameOf(accounts, operation, args, context.principal);
    logOutcome(operation, account, outcome, context, dependencies);
    return account === undefined ? outcome : withAccount(outcome, account);
  };
  return callTool;
}

/** The refusal of a call whose account is not clear: all that is wrong with its other arguments is told at the same time. */
function withOtherProblems(problem: Shown, operation: Operation, args: unknown): Refusal {
  const others = (): readonly Shown[] => {
    try {
      validate(operation, args, '');
      return [];
    } catch (error) {
      if (error instanceof Refusal) return error.problems;
      throw error;
    }
  };
  return new Refusal('InvalidArguments', [problem, ...others()]);
}

/** False for a call that brings its decision: its plan was shown before, or is not shown at all. */
const showsPlan = (
  { planOnly, planId }: ControlArguments,
  { elicitor, click, look, agreed }: CallContext,
  confirm: ConsentMode,
) =>
  planId === undefined &&
  look === undefined &&
  (planOnly || (click === undefined && elicitor?.resumedReply === undefined && agreed !== true && confirm !== 'off'));

/** What the read before a change finds, in sentences. A change is not stopped by a read that fails, or is not allowed. */
async function findBefore(
  call: CallTool,
  { operation: { preflight }, input, accountName }: Pick<PlannedCall, 'operation' | 'input' | 'accountName'>,
  { onPage: _, onFollowedPage: __, hasView: ___, ...context }: CallContext,
  now: () => Date,
): Promise<Shown | undefined> {
  if (preflight === undefined) return undefined;
  const account = accountName === undefined ? {} : { account: accountName };
  const outcome = await call(preflight.operation, { ...preflight.input(input), ...account }, context);
  if (outcome.kind === 'succeeded') return say`Found at ${own(now().toISOString())}: ${said(outcome.success.summary)}`;
  if (outcome.kind === 'failed')
    return say`What is there now is not known. ${said(join([outcome.failure.summary, ...outcome.failure.problems], ' '))}`;
  return undefined;
}

/** The failure of a call that was stopped, or broke. A change that breaks here was not sent: see `carryOut`. */
function failed(operation: Operation, error: unknown, { log }: CallDependencies): CallOutcome {
  const { name, effect } = operation;
  const isChange = effect !== 'read';
  const refusal = error instanceof Refusal ? error : keysRefusal(error);
  if (refusal !== undefined) return { kind: 'failed', failure: refusalFailure(name, refusal, isChange) };
  const kind = error instanceof Error ? error.name : 'not an error';
  // Not by its class, which only operations from outside need loaded.
  const fault = error instanceof Error && kind === 'OperationFault' ? { fault: error.message } : {};
  log('error', 'unexpected', { tool: name, error: kind, ...fault });
  const failure = isChange
    ? refusalFailure(name, new Refusal('InternalError', []), isChange)
    : serverFault({ operation });
  return { kind: 'failed', failure };
}

/** The account is named in the result, where accounts have names. */
function withAccount(outcome: CallOutcome, account: string): CallOutcome {
  if (outcome.kind === 'failed') return { ...outcome, failure: { ...outcome.failure, account } };
  if (outcome.kind === 'succeeded') return { ...outcome, success: { ...outcome.success, account } };
  return outcome;
}

function logOutcome(
  operation: Operation,
  account: string | undefined,
  outcome: CallOutcome,
  { principal }: CallContext,
  { log }: CallDependencies,
): void {
  const failure = outcome.kind === 'failed' ? outcome.failure : undefined;
  const { code, mayHaveHappened = false } = failure ?? {};
  log(mayHaveHappened ? 'warn' : 'info', 'call', {
    tool: operation.name,
    account,
    ok: failure === undefined,
    ...(failure !== undefined && { code, mayHaveHappened }),
    caller: principal?.name,
  });
}
