import { serverFault } from '../answers/failure.js';
import { Refusal, refusalFailure } from '../answers/refusal.js';
import type { Operation } from '../tools/define-operation.js';
import { TransportUnavailable } from '../transport/open-client.js';
import { textAt } from '../util/objects.js';
import type { CallContext, CallDependencies, CallOutcome, Steering } from './context.js';
import { checkPath, regionSourceOf, resolveEndpoint } from './endpoint.js';
import { checkPolicy, checkRegions } from './policy.js';
import { read } from './read.js';
import { insertSecrets } from './secrets.js';
import { validate } from './validate.js';

/** Carries out one call of an operation. Never rejects for anything that bad input or the network can cause. */
export type CallTool = (operation: Operation, args: unknown, context: CallContext) => Promise<CallOutcome>;

/** Every call takes the same path: check policy, check arguments, resolve the endpoint, then read or change. */
export function createCallTool(dependencies: CallDependencies): CallTool {
  const { policy, secretFiles, openClient } = dependencies;

  const callTool: CallTool = async (operation, args, context) => {
    checkPolicy(policy, operation, context.principal);
    const cloud = await dependencies.cloud();
    const given = validate(operation, args, cloud.region);
    const complete = await insertSecrets(operation, given, secretFiles, cloud.region);
    const { planOnly, planId, allowRepeat, ...input } = complete.input;

    const { region, query = {}, ...request } = operation.request(input);
    checkRegions(policy, region, input);
    const endpoint = resolveEndpoint(cloud, operation.service, region);
    checkPath(endpoint, request.path);
    const secrets = (operation.secrets ?? []).map((path) => textAt(input, path));
    const open = (signal: AbortSignal) =>
      openClient(endpoint, { repeatable: operation.effect === 'read', secrets, signal, span: context.span });

    if (operation.change === undefined) {
      using client = await open(context.signal);
      return await read(operation, input, endpoint, client, context);
    }
    const { change } = await import('./change.js');
    const steering: Steering = {
      planOnly: planOnly === true,
      planId: typeof planId === 'string' ? planId : undefined,
      allowRepeat: allowRepeat === true,
    };
    const regionSource = regionSourceOf(cloud, region);
    const unsigned = { method: operation.method, query, ...request };
    const { secretNames } = complete;
    const call = { operation, change: operation.change, input, request: unsigned, endpoint, regionSource, secretNames };
    return change(call, steering, open, context, dependencies);
  };

  return async (operation, args, context) => {
    const outcome = await callTool(operation, args, context).catch((error) => failed(operation, error, dependencies));
    logOutcome(operation, outcome, context, dependencies);
    return outcome;
  };
}

/** What a call that was stopped, or broke, is for its caller. */
function failed(operation: Operation, error: unknown, { log }: CallDependencies): CallOutcome {
  const changes = operation.effect !== 'read';
  if (error instanceof Refusal) return { kind: 'failed', failure: refusalFailure(operation.name, error, changes) };
  log('error', 'unexpected', { tool: operation.name, error: error instanceof Error ? error.name : 'not an error' });
  if (error instanceof TransportUnavailable)
    return { kind: 'failed', failure: refusalFailure(operation.name, new Refusal('SenderUnavailable', []), changes) };
  const ifUnknown = 'Do not repeat it: have the user look in the console whether it happened, and decide then.';
  return { kind: 'failed', failure: serverFault({ operation, ifUnknown }) };
}

function logOutcome(
  { name }: Operation,
  outcome: CallOutcome,
  { principal }: CallContext,
  { log }: CallDependencies,
): void {
  const failure = outcome.kind === 'failed' ? outcome.failure : undefined;
  const { code, mayHaveHappened = false } = failure ?? {};
  log(mayHaveHappened ? 'warn' : 'info', 'call', {
    tool: name,
    ok: failure === undefined,
    ...(failure !== undefined && { code, mayHaveHappened }),
    caller: principal?.name,
  });
}
