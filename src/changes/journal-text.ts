import { defaultAccount } from '../transport/request.js';
import { reasonOf } from '../util/log.js';
import { join, own, quoted, type SafeText, say, time as timeText, words } from '../util/safe-text.js';
import type { Budget, BudgetState } from './budget.js';
import { type Agent, type Ending, type Intent, type RecordedChange, storedCaller } from './entry.js';

/** The result of writing an intent. Only a change that has `begun` may be sent. */
export type BeginResult =
  | { readonly kind: 'begun' }
  | { readonly kind: 'duplicate'; readonly earlier: RecordedChange }
  | { readonly kind: 'consentUsed' }
  | ({ readonly kind: 'budgetSpent'; readonly budget: Budget } & BudgetState)
  | { readonly kind: 'unwritable'; readonly reason: string };

/** The result if an intent cannot be written. `name` is the name of the file, or of the database without its password. */
export const unwritable = (name: string, error: unknown): BeginResult => ({
  kind: 'unwritable',
  reason: `${name}: ${reasonOf(error)}`,
});

export interface ListChangesOptions {
  readonly limit?: number | undefined;
  readonly caller?: string | undefined;
}

/** Rules that decide whether an intent may be sent. */
export interface BeginOptions {
  /** The id of the change that the intent may repeat, because its plan showed that change. True if it may repeat any change. */
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

/** The record of all changes. Several processes may share a journal. */
export interface Journal {
  /**
   * Checks that changes can be recorded, and returns warnings for operators. Writes no entry, but creates missing tables.
   * @throws if changes would be refused
   */
  healthCheck(): Promise<readonly SafeText[]>;
  /** The number of outcomes that are not written yet. */
  unwritten(): number;
  /**
   * The last change with this digest that has no outcome yet, or was or may have been accepted recently.
   * @throws if the journal cannot be read
   */
  findDuplicate(digest: string): Promise<RecordedChange | undefined>;
  /**
   * The change for which the consent with this nonce was used or refused. A journal in a file finds only changes of the last day.
   * @throws if the journal cannot be read
   */
  findByNonce(nonce: string): Promise<RecordedChange | undefined>;
  /** Writes an intent durably before it is sent. Of intents in conflict, only the first may be sent. The others end as `not sent`. */
  begin(intent: Intent, options: BeginOptions): Promise<BeginResult>;
  /**
   * How many changes a budget still allows.
   * @param key digest of an account and its caller
   * @throws if the journal cannot be read
   */
  budgetState(key: string, budget: Budget): Promise<BudgetState>;
  /**
   * Writes the outcome of an intent, and retries with growing pauses until it is written. When the journal is closed, it tries once more.
   * @throws the last error, if the outcome could not be written
   */
  end(ending: Ending): Promise<void>;
  /**
   * Writes the outcome of an intent that has none, and tries only once. Resolves with false if the intent has an outcome already.
   * @throws if the outcome could not be written
   */
  tryEnd(ending: Ending): Promise<boolean>;
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

/** True if a change is of another caller than the viewer. Always false without a viewer. */
export const isOfAnother = ({ caller }: Pick<Intent, 'caller'>, viewer: string | undefined): boolean =>
  viewer !== undefined && storedCaller(viewer) !== caller;

/** Length limit of a text from the journal in a message. The text is also quoted, because another program may have written it. */
const shownCharacters = 500;

/** Formats the time of an entry, which another program may have written and which may be no date. */
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
  const names = clientId === undefined ? actors : [...actors, clientId];
  const [agent = words('unknown'), ...others] = names.map((name) => quoted(name, 100));
  return others.length === 0 ? say`agent ${agent}` : say`agent ${agent} through ${join(others, ', ')}`;
}

/** Describes a change in one line. */
export function describe(change: RecordedChange): SafeText {
  const { time, consent, answeredAfterMs, client, caller, agent, approver, reason, ending } = change;
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

/** The most changes to read when only the changes of some accounts are shown. */
const mostLookedThrough = 1000;

/** Returns the last changes as Markdown. Without `caller`, of all callers. Without `accounts`, of all accounts. */
export async function journalText(
  journal: Journal,
  caller: string | undefined,
  accounts?: readonly string[],
): Promise<string> {
  const listed = await journal.list({ caller, limit: accounts === undefined ? defaultLimit : mostLookedThrough });
  const selected = listed.filter(({ account }) => accounts === undefined || accounts.includes(account));
  const lines = selected.slice(-defaultLimit).map((change) => `- ${describe(change)}`);
  return `# Journal\n\n${lines.join('\n') || nothingYet}\n`;
}
