/** A person's answer to a question of the server. */
export type Decision = 'accept' | 'decline';

/** A request that reached the cloud. */
export interface CloudRequest {
  /** The account whose cloud it reached; empty where there is only one. */
  readonly account: string;
  readonly method: string;
  /** Path and query, as on the wire. */
  readonly url: string;
  /** Parsed, if it is JSON; otherwise its text. */
  readonly body: unknown;
}

/** What happened, in order. */
export type Event =
  | { readonly kind: 'person'; readonly text: string; readonly permits: boolean }
  | { readonly kind: 'model'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string; readonly args: unknown }
  | { readonly kind: 'result'; readonly tool: string; readonly text: string }
  | { readonly kind: 'question'; readonly tool: string; readonly message: string; readonly decision: Decision }
  | ({ readonly kind: 'request' } & CloudRequest)
  /** From here on, the person only asks how it ended. */
  | { readonly kind: 'closing' };

export type EventOf<Kind extends Event['kind']> = Extract<Event, { kind: Kind }>;

export const isChange = (event: Event): event is EventOf<'request'> =>
  event.kind === 'request' && !['GET', 'HEAD'].includes(event.method);

/** A change as `cloudops-mcp journal --json` prints it. Without an outcome it was left open. */
export interface JournalEntry {
  readonly tool: string;
  readonly outcome: string | undefined;
}

/** All that a situation is judged by. */
export interface Run {
  readonly events: readonly Event[];
  readonly journal: readonly JournalEntry[];
  /** The bound that ended it, if one did. */
  readonly stopped: string | undefined;
  readonly tokens: Tokens;
}

/** Tokens of the requests and answers of a model. */
export interface Tokens {
  readonly count: number;
  /** True if the model's address did not report them, and they were estimated from the number of characters. */
  readonly isEstimate: boolean;
}
