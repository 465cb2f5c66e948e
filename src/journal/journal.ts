import { defaultAccount } from '../transport/request.js';
import { reasonOf } from '../util/log.js';
import { join, own, quoted, type SafeText, say, time as timeText, words } from '../util/safe-text.js';
import type { Budget, BudgetState } from './budget.js';
import { type Agent, boundedCaller, type Ending, type Intent, type RecordedChange } from './entry.js';

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

export interface ListChangesOptions {
  /** Only changes since this time (milliseconds). */
  readonly since?: number | undefined;
  readonly limit?: number | undefined;
  readonly caller?: string | undefined;
}

/** Further rules for an intent. */
export interface BeginOptions {
  /** The id of the change that the intent may repeat, which its plan showed, or true for any change. */
  readonly allowRepeat: string | boolean;
  /** The budget of the intent's account and caller, if there is one. */
  readonly budget?: Budget | undefined;
}

export interface ReadOptions {
  /** Only changes from `since` on and before `until` (milliseconds). */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Waits for the next read, and returns false to stop. If absent, the journal is read once. */
  readonly follow?: (() => Promise<boolean>) | undefined;
}

/** The record of all changes. Several processes may share one. */
export interface Journal {
  /**
   * Checks that changes can be recorded, and returns warnings for operators. Writes no entry, but creates missing tables.
   * @throws if changes would be refused
   */
  healthCheck(): Promise<readonly SafeText[]>;
  /** The number of outcomes that are not written yet. */
  unwritten(): number;
  /**
   * The last change with a digest, if it was or may have been accepted recently or has no outcome yet.
   * @throws if the journal cannot be read
   */
  findDuplicate(digest: string): Promise<RecordedChange | undefined>;
  /**
   * The change for which the consent with a nonce was used or refused. A journal in a file finds only changes of the last day.
   * @throws if the journal cannot be read
   */
  findByNonce(nonce: string): Promise<RecordedChange | undefined>;
  /**
   * Writes an intent durably, before anything is sent. If intents are in conflict, only the first that was written may be sent. The
   * others are ended as `not sent`.
   */
  begin(intent: Intent, options: BeginOptions): Promise<BeginResult>;
  /**
   * The state of the budget with a key.
   * @throws if the journal cannot be read
   */
  budgetState(key: string, budget: Budget): Promise<BudgetState>;
  /**
   * Writes the outcome of an intent, and retries with growing pauses until it is written. When the signal aborts or the journal is
   * closed, it tries once more. If the signal was aborted before, it tries only once.
   * @throws the last error, if the outcome could not be written
   */
  end(ending: Ending, signal?: AbortSignal): Promise<void>;
  /**
   * Records that a person refused a change or its caller withdrew it, and spends its nonce. Resolves with false if the nonce was
   * spent before.
   * @throws if the entries cannot be written
   */
  decline(intent: Intent): Promise<boolean>;
  /**
   * Digests of a caller's changes that a person declined since a time (milliseconds, at most two hours ago). If callers are not
   * authenticated, `caller` is undefined, and `client` may select the changes of one client.
   * @throws if the journal cannot be read
   */
  listDeclined(since: number, caller: string | undefined, client?: string): Promise<readonly string[]>;
  /**
   * The newest changes, oldest first: at most `limit`, or `defaultLimit`.
   * @throws if the journal cannot be read
   */
  list(options: ListChangesOptions): Promise<readonly RecordedChange[]>;
  /**
   * Changes without an outcome, oldest first.
   * @throws if the journal cannot be read
   */
  listUnfinished(): Promise<readonly RecordedChange[]>;
  /**
   * All changes as a stream. A change comes when its outcome is read, and again if the outcome changes. Unfinished changes come last.
   * @throws if the journal cannot be read
   */
  read(options: ReadOptions): AsyncIterable<RecordedChange>;
  /** Stops retries and closes connections. */
  close(): Promise<void>;
}

export const defaultLimit = 50;

/** True if a change belongs to another caller than the viewer. Always false without a viewer. */
export const isOfAnother = ({ caller }: Pick<Intent, 'caller'>, viewer: string | undefined): boolean =>
  viewer !== undefined && boundedCaller(viewer) !== caller;

/** Bounds texts of the journal, which are also quoted, because other programs may have written them. */
const shownCharacters = 500;

/** Formats the time of an entry. Untrusted: it may not be a date. */
export const shownTime = (time: string): SafeText =>
  Number.isNaN(Date.parse(time)) ? words('an unknown time') : timeText(time);

/** The tool of a change, and its account unless that is the default one: `"restore_instance" in account "prod"`. */
export function shownTool({ tool, account }: Pick<Intent, 'tool' | 'account'>): SafeText {
  const shown = quoted(tool, 100);
  return account === defaultAccount ? shown : say`${shown} in account ${quoted(account, 100)}`;
}

/** The tool of a change, its sentence and its target. */
export function shownDeed(change: Pick<Intent, 'tool' | 'what' | 'target' | 'account'>): SafeText {
  const { what, target } = change;
  return say`${shownTool(change)}: ${quoted(what, shownCharacters)}  ${quoted(target, shownCharacters)}`;
}

/** The program that acted for the caller: `agent "code-helper" through "scheduler"`. */
export function shownAgent({ clientId, actors }: Agent): SafeText {
  const [name, ...others] = [...actors, ...(clientId === undefined ? [] : [clientId])].map((one) => quoted(one, 100));
  return say`agent ${name ?? words('unknown')}${others.length === 0 ? none : say` through ${join(others, ', ')}`}`;
}

/**
 * Describes a change in one line for people. A viewer learns about changes of other callers only that they exist. Without a viewer,
 * everything is shown.
 */
export function describe(change: RecordedChange, viewer?: string): SafeText {
  const { time, consent, answeredAfterMs, client, caller, agent, approver, reason, ending } = change;
  if (isOfAnother(change, viewer)) return words('another caller asked for the same change');
  const outcome = words(ending === undefined ? 'no outcome yet' : ending.outcome);
  const code = ending?.code === undefined ? none : say` (${quoted(ending.code, 100)})`;
  const inPart = ending?.failed === undefined ? none : say` in part (${ending.failed.count} failed)`;
  const answered = answeredAfterMs === undefined ? none : say` after ${Math.round(answeredAfterMs / 1000)} s`;
  const by = caller === undefined ? none : say`  caller: ${quoted(caller, 100)}`;
  const acting = agent === undefined ? none : say`  ${shownAgent(agent)}`;
  const decided = approver === undefined ? none : say`  decided by: ${quoted(approver, 100)}`;
  const because = reason === undefined ? none : say`  reason: ${quoted(reason, 200)}`;
  return say`${shownTime(time)}  ${outcome}${inPart}${code}  ${shownDeed(change)}  consent: ${own(consent)}${answered}  client: ${quoted(client, 100)}${by}${acting}${decided}${because}`;
}

const none = words('');

export const nothingYet = 'No changes yet.';

/** The most changes to search for the changes of selected accounts. */
const mostLookedThrough = 1000;

/** The last changes as Markdown. If `caller` or `accounts` is undefined, the changes of all callers or accounts. */
export async function journalText(
  journal: Journal,
  caller: string | undefined,
  accounts?: readonly string[],
): Promise<string> {
  const listed = await journal.list({ caller, limit: accounts === undefined ? defaultLimit : mostLookedThrough });
  const changes = listed.filter(({ account }) => accounts?.includes(account) !== false).slice(-defaultLimit);
  return `# Journal\n\n${changes.map((change) => `- ${describe(change)}`).join('\n') || nothingYet}\n`;
}
