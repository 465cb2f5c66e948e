import { defaultAccount } from '../transport/request.js';
import { reasonOf } from '../util/log.js';
import { own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Budget, BudgetState } from './budget.js';
import { boundedCaller, type Ending, type Intent, type RecordedChange } from './entry.js';

/** The result of writing an intent. Only a change that has `begun` may be sent. */
export type BeginResult =
  | { readonly kind: 'begun' }
  | { readonly kind: 'duplicate'; readonly earlier: RecordedChange }
  | { readonly kind: 'consentUsed' }
  | ({ readonly kind: 'budgetSpent'; readonly budget: Budget } & BudgetState)
  | { readonly kind: 'unwritable'; readonly reason: string };

/** @param place name of the file, or of the database without its password */
export const unwritable = (place: string, error: unknown): BeginResult => ({
  kind: 'unwritable',
  reason: `${place}: ${reasonOf(error)}`,
});

export interface ListOptions {
  /** Only changes since this time (milliseconds). */
  readonly since?: number | undefined;
  readonly limit?: number | undefined;
  readonly caller?: string | undefined;
}

/** Rules that an intent has to meet besides. */
export interface BeginOptions {
  /** The id of the change that it may repeat, or true for any. */
  readonly allowRepeat: string | boolean;
  /** The budget of the intent's account and caller, if there is one. */
  readonly budget?: Budget | undefined;
}

export interface ReadOptions {
  /** Only changes since this time, and before that one (milliseconds). */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Waits before the journal is read on; false ends that. Without it, the journal is read once. */
  readonly follow?: (() => Promise<boolean>) | undefined;
}

/** The record of all changes. Several processes may share one. */
export interface Journal {
  /**
   * What an operator should know of the place of the journal: sentences, none if all is well. It writes no entry, but creates missing
   * tables.
   * @throws if changes would be refused
   */
  healthCheck(): Promise<readonly SafeText[]>;
  /** The number of outcomes that are not written yet. */
  unwritten(): number;
  /**
   * The last change with a digest that was, or may have been, accepted not long ago, or that has no outcome yet.
   * @throws if the journal cannot be read
   */
  findDuplicate(digest: string): Promise<RecordedChange | undefined>;
  /**
   * The change that the consent with a nonce was used for, or refused; at most a day old where the journal is a file.
   * @throws if the journal cannot be read
   */
  findByNonce(nonce: string): Promise<RecordedChange | undefined>;
  /**
   * Writes an intent durably, before anything is sent. Of intents in conflict the one that was written first may be sent,
   * the others are ended as `not sent`. `allowRepeat` is the id of the change that it may repeat, the one
   * that the plan showed, or true for any.
   */
  begin(intent: Intent, options: BeginOptions): Promise<BeginResult>;
  /**
   * The state of the budget with a key.
   * @throws if the journal cannot be read
   */
  budgetState(key: string, budget: Budget): Promise<BudgetState>;
  /**
   * Writes the outcome of an intent. Tries again with growing pauses until it is written; when the signal aborts or the
   * journal is closed, once more. With a signal that is aborted from the start it tries once.
   * @throws the last error, if it could not be written
   */
  end(ending: Ending, signal?: AbortSignal): Promise<void>;
  /**
   * Writes that a change was refused instead of agreed to, or withdrawn by its caller, and spends its nonce. Resolves with false if the nonce was spent before.
   * @throws if it cannot be written
   */
  decline(intent: Intent): Promise<boolean>;
  /**
   * Digests of the changes of a caller (undefined where callers are not authenticated) that were declined by a person since a time (milliseconds),
   * which is at most two hours ago. Where callers are not authenticated, those of one client, if it is named.
   * @throws if the journal cannot be read
   */
  listDeclined(since: number, caller: string | undefined, client?: string): Promise<readonly string[]>;
  /**
   * The newest changes, oldest first: at most 50, unless `limit` says otherwise.
   * @throws if the journal cannot be read
   */
  list(options: ListOptions): Promise<readonly RecordedChange[]>;
  /**
   * Changes without an outcome, oldest first.
   * @throws if the journal cannot be read
   */
  listUnfinished(): Promise<readonly RecordedChange[]>;
  /**
   * All changes as a stream: each when its outcome is read, again if that changes, and at the end those that have none.
   * @throws if the journal cannot be read
   */
  read(options: ReadOptions): AsyncIterable<RecordedChange>;
  /** Gives up what is still being tried, and closes connections. */
  close(): Promise<void>;
}

export const defaultLimit = 50;

/** True if a change belongs to another caller than the viewer. Without a viewer, none does. */
export const isOfAnother = ({ caller }: Pick<Intent, 'caller'>, viewer: string | undefined): boolean =>
  viewer !== undefined && boundedCaller(viewer) !== caller;

/** Texts of the journal are shown quoted and bounded: others than this server may have written them. */
const shownCharacters = 500;

/** The time of an entry, which may be any text. */
export const shownTime = (time: string): SafeText =>
  Number.isNaN(Date.parse(time)) ? words('an unknown time') : own(new Date(time).toISOString());

/** The tool of a change, and its account if that has a name: `"restore_instance" in account "prod"`. */
export function shownTool({ tool, account }: Pick<Intent, 'tool' | 'account'>): SafeText {
  const shown = quoted(tool, 100);
  return account === defaultAccount ? say`${shown}` : say`${shown} in account ${quoted(account, 100)}`;
}

/** What a change did, and where. */
export function shownDeed(change: Pick<Intent, 'tool' | 'what' | 'target' | 'account'>): SafeText {
  const { what, target } = change;
  return say`${shownTool(change)}: ${quoted(what, shownCharacters)}  ${quoted(target, shownCharacters)}`;
}

/**
 * One line for people: when, what came of it, and what it was. Of another's change a caller learns only that there is one;
 * without a caller, everything is shown.
 */
export function describe(change: RecordedChange, viewer?: string): SafeText {
  const { time, consent, answeredAfterMs, client, caller, approver, ending } = change;
  if (isOfAnother(change, viewer)) return words('another caller asked for the same change');
  const outcome = words(ending === undefined ? 'no outcome yet' : ending.outcome);
  const code = ending?.code === undefined ? none : say` (${quoted(ending.code, 100)})`;
  const answered = answeredAfterMs === undefined ? none : say` after ${Math.round(answeredAfterMs / 1000)} s`;
  const by = caller === undefined ? none : say`  caller: ${quoted(caller, 100)}`;
  const decided = approver === undefined ? none : say`  decided by: ${quoted(approver, 100)}`;
  return say`${shownTime(time)}  ${outcome}${code}  ${shownDeed(change)}  consent: ${own(consent)}${answered}  client: ${quoted(client, 100)}${by}${decided}`;
}

const none = words('');

export const nothingYet = 'No changes yet.';

/** The most changes that are looked through for those of some accounts. */
const mostLookedThrough = 1000;

/** The last changes, as Markdown: those of one caller, or all, and those of some accounts, or all. */
export async function journalText(
  journal: Journal,
  caller: string | undefined,
  accounts?: readonly string[],
): Promise<string> {
  const found = await journal.list({ caller, limit: accounts === undefined ? defaultLimit : mostLookedThrough });
  const changes = found.filter(({ account }) => accounts?.includes(account) !== false).slice(-defaultLimit);
  return `# Journal\n\n${changes.map((change) => `- ${describe(change)}`).join('\n') || nothingYet}\n`;
}
