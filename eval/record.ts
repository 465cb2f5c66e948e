/** A person's answer to a question of the server. */
export type Decision = 'accept' | 'decline';

/** A request that reached the cloud. */
export interface CloudRequest {
  /** The account whose cloud it reached; empty if there is only one account. */
  readonly account: string;
  readonly method: string;
  /** Path and query, as on the wire. */
  readonly url: string;
  /** By lower-case name, without signature and session token. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body if it is JSON, otherwise its text. */
  readonly body: unknown;
  /** True if the request changes something, and does not only read. */
  readonly changes: boolean;
}

/** The events of a run, in order. */
export type Event =
  | { readonly kind: 'person'; readonly text: string; readonly permits: boolean }
  | { readonly kind: 'model'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string; readonly args: unknown }
  | { readonly kind: 'result'; readonly tool: string; readonly text: string }
  | { readonly kind: 'question'; readonly tool: string; readonly message: string; readonly decision: Decision }
  | ({ readonly kind: 'request' } & CloudRequest)
  /** From this event on, the person only asks for the outcome. */
  | { readonly kind: 'closing' };

export type EventOf<Kind extends Event['kind']> = Extract<Event, { kind: Kind }>;

export const isChange = (event: Event): event is EventOf<'request'> => event.kind === 'request' && event.changes;

/** A change as printed by `cloudops-mcp journal --json`. A change without an outcome is unfinished. */
export interface JournalEntry {
  readonly tool: string;
  readonly outcome: string | undefined;
  /** True for a change of several things, each of which has an entry of its own. */
  readonly hasParts?: boolean;
}

/** The material for judging a run. */
export interface Run {
  readonly events: readonly Event[];
  readonly journal: readonly JournalEntry[];
  /** The limit that ended the run, if a limit did. */
  readonly stopped: string | undefined;
  readonly tokens: Tokens;
}

/** Tokens in a model's requests and answers. */
export interface Tokens {
  readonly count: number;
  /** True if the model's address reported no tokens, so that they were estimated from the number of characters. */
  readonly isEstimate: boolean;
}
