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
  /** Called after each page except the last. */
  readonly onPage?: ((pages: number, entries: number) => void) | undefined;
  readonly onRetry?: SignedClientOptions['onRetry'];
  /** Aborts when the client cancels. */
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
