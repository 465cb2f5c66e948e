import type { Operation } from '../tools/define-operation.js';
import type { OpenClient, SignedClientOptions } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import type { Span, TracedRequest } from '../util/trace.js';
import type { Accounts } from './account.js';
import type { SecretFiles } from './insert-secrets.js';
import type { Principal } from './policy.js';
import type { ArgumentName } from './validate.js';
import type { Wait } from './waiting.js';

/** The services of this process that all calls share. */
export interface CallDependencies {
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly openClient: OpenClient;
  readonly secretFiles: SecretFiles;
  readonly now: () => Date;
  readonly log: Log;
}

/** The circumstances of a call: its caller and client. */
export interface CallContext {
  /** Called after each page of a read except the last, with the total numbers of pages and entries read so far. */
  readonly onPage?: ((pages: number, entries: number) => void) | undefined;
  /** Called after each attempt that is followed by a retry. */
  readonly onRetry?: SignedClientOptions['onRetry'];
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Aborts when this server shuts down. It then no longer waits for a person's answer. */
  readonly stop?: AbortSignal | undefined;
  /** Runs work that waits for a person, so that the waiting call does not count towards the limit of concurrent calls. */
  readonly wait?: Wait | undefined;
  /** Set if the caller is no model, so that an answer has no budget, and all pages are read. */
  readonly wantsWholeAnswer?: boolean;
  /** Set if the client shows views (MCP Apps). */
  readonly hasView?: boolean;
  /** Absent if callers are not authenticated. */
  readonly principal?: Principal | undefined;
  /** Name and version that the client gives itself. */
  readonly client: string;
  /** Turns argument names into the client's names, for problems with arguments. Absent if both names are the same. */
  readonly argumentName?: ArgumentName | undefined;
  /** The request that made the call, which may name the caller's trace. Absent without a client. */
  readonly tracedRequest?: TracedRequest;
  readonly span?: Span | undefined;
}
