import type { ServiceCatalog } from '../models/service-catalog.js';
import type { Operation } from '../tools/define-operation.js';
import type { OpenClient, SignedClientOptions } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import type { SafeText } from '../util/safe-text.js';
import { linkedController } from '../util/time-limit.js';
import type { TracedRequest } from '../util/trace.js';
import type { Accounts } from './account.js';
import type { SecretFiles } from './call-secrets.js';
import type { Plan } from './outcome.js';
import type { Principal } from './policy.js';
import type { ReadCount } from './read-limits.js';
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
  readonly startCount: () => ReadCount;
  readonly now: () => Date;
  readonly log: Log;
}

export interface CallContext {
  /** Absent if callers are not authenticated. */
  readonly principal?: Principal | undefined;
  readonly client: CallClient;
  readonly brought?: Brought | undefined;
  readonly signal: AbortSignal;
  /** Aborts when this server shuts down. */
  readonly stop?: AbortSignal | undefined;
  /** Undefined if concurrent calls have no limit. */
  readonly wait?: Wait | undefined;
  readonly watch?: Pick<SignedClientOptions, 'onRetry' | 'span'> & {
    /** Called after each page except the last. */
    readonly onPage?: ((pages: number, entries: number) => void) | undefined;
    readonly tracedRequest?: TracedRequest;
  };
}

export interface CallRun extends CallContext, CallDependencies {}

/** What a client shows, and how it asks its user. */
export interface CallClient {
  /** Name and version. */
  readonly name: string;
  /** Set if the client's session cannot be read. */
  readonly isUnknown?: boolean;
  /** Set if the client shows views (MCP Apps). */
  readonly views?: boolean;
  /** Set if the caller is no model, so that an answer has no budget. */
  readonly wantsWholeAnswer?: boolean;
  readonly argumentName?: ArgumentName | undefined;
  readonly elicitor?: Elicitor | undefined;
  readonly guide?: Guide | undefined;
}

/** `unanswered` stayed open for too long. `interrupted`: the client or this server ended the call. `notAsked`: the client could not ask. */
export interface FormResponse {
  readonly kind: 'agreed' | 'wrongName' | 'declined' | 'cancelled' | 'unanswered' | 'interrupted' | 'notAsked';
  /** As it was typed. */
  readonly reason?: string | undefined;
}

export interface Elicitor {
  /** Set for this process's own terminal, where no client can answer for the person. */
  readonly isDirect?: true;
  show?(plan: Plan): void;
  /**
   * Asks a question. Clients since 2026-07-28 get `later`, and call again with the response (`Brought`).
   * @param accept label of the accepting option
   */
  ask(message: SafeText, accept: SafeText, cancel: AbortSignal, nameToType?: string): Promise<FormResponse | 'later'>;
}

/** The response to an address. `opened` is no decision. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** Asks the client's user to open an address (MCP's URL elicitation). Resolves with `later` as `ask` does. */
export type Guide = (message: SafeText, address: string, cancel: AbortSignal) => Promise<Visit | 'later'>;

/** What a call brings from a person: consent on the command line, or the answer to the question of an earlier call. */
export type Brought =
  | { readonly kind: 'consent' }
  | {
      readonly kind: 'answer';
      /** MCP's `requestState`, which the client returned unchanged. */
      readonly proof: string;
      readonly responseTo: (accept: SafeText, nameToType?: string) => FormResponse;
      readonly visit: Visit;
    };

/** Runs work outside the limit of concurrent calls. @throws Refusal */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

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
