import type { ServiceCatalog } from '../models/service-catalog.js';
import type { Operation } from '../tools/define-operation.js';
import type { OpenClient, SignedClientOptions } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import { linkedController } from '../util/time-limit.js';
import type { Span, TracedRequest } from '../util/trace.js';
import type { Accounts } from './account.js';
import type { SecretFiles } from './call-secrets.js';
import type { Principal } from './policy.js';
import { Refusal } from './refusal.js';
import type { ArgumentName } from './validate.js';

/** The services of this process that all calls share. */
export interface CallDependencies {
  readonly accounts: Accounts;
  /** The named tools. */
  readonly operations: readonly Operation[];
  /** Undefined without whole services. */
  readonly services?: ServiceCatalog | undefined;
  readonly openClient: OpenClient;
  readonly secretFiles: SecretFiles;
  readonly now: () => Date;
  readonly log: Log;
}

/** The circumstances of a call: its caller and client. */
export interface CallContext {
  /** Called after each page except the last. */
  readonly onPage?: ((pages: number, entries: number) => void) | undefined;
  readonly onRetry?: SignedClientOptions['onRetry'];
  readonly signal: AbortSignal;
  /** Aborts when this server shuts down. */
  readonly stop?: AbortSignal | undefined;
  readonly wait?: Wait | undefined;
  /** Set if the caller is no model, so that an answer has no budget. */
  readonly wantsWholeAnswer?: boolean;
  /** Set if the client shows views (MCP Apps). */
  readonly hasView?: boolean;
  /** Absent if callers are not authenticated. */
  readonly principal?: Principal | undefined;
  /** Name and version. */
  readonly client: string;
  readonly argumentName?: ArgumentName | undefined;
  readonly tracedRequest?: TracedRequest;
  readonly span?: Span | undefined;
}

/** Runs work outside the limit of concurrent calls. @throws Refusal */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Runs work with `wait`, or directly if there is no limit. */
export const waitForPerson = <Result>(
  { wait }: { readonly wait?: Wait | undefined },
  work: () => Promise<Result>,
): Promise<Result> => (wait === undefined ? work() : wait(work));

/**
 * Runs work that changes nothing, and stops waiting for it when `stop` aborts. After `signal`, the wait goes on until the work has ended.
 * @throws Refusal `Stopping`
 */
export async function unlessStopped<Result>(
  stop: AbortSignal | undefined,
  work: (workSignal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  if (stop?.aborted) throw new Refusal('Stopping');

  using linked = linkedController(signal);
  let rejectStopping: () => void = () => {};
  const stopping = new Promise<never>((_, reject) => {
    rejectStopping = () => reject(new Refusal('Stopping'));
  });
  stop?.addEventListener('abort', rejectStopping);

  try {
    return await Promise.race([stopping, work(linked.controller.signal)]);
  } finally {
    stop?.removeEventListener('abort', rejectStopping);
    // Aborted only now, so that the error of an aborted part cannot replace the first error.
    linked.controller.abort('the work has ended');
  }
}
