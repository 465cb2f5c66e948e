import type { Agent } from '../calls/policy.js';
import { defaultAccount } from '../transport/request.js';
import { sentences } from '../util/human.js';
import { join, own, quoted, type SafeText, say, time as timeText, words } from '../util/safe-text.js';
import type { Change, JournalEntry } from './change.js';
import type { Changes } from './store.js';

/** This file has the texts about changes in journals. Texts from a store are quoted, because other programs may have written them. */

const shownCharacters = 500;

export const shownTime = (time: number): SafeText =>
  Number.isNaN(new Date(time).getTime()) ? words('an unknown time') : timeText(new Date(time).toISOString());

/** A change with its tool, and with its account unless that is the default one. */
export function shownDeed(change: Pick<Change, 'tool' | 'what' | 'target' | 'account'>): SafeText {
  const { tool, account, what, target } = change;
  const place = account === defaultAccount ? none : say` in account ${quoted(account, 100)}`;
  return say`${quoted(tool, 100)}${place}: ${quoted(what, shownCharacters)}  ${quoted(target, shownCharacters)}`;
}

function shownAgent({ clientId, actors }: Agent): SafeText {
  const names = clientId === undefined ? actors : [...actors, clientId];
  const [agent = words('unknown'), ...others] = names.map((name) => quoted(name, 100));
  return others.length === 0 ? say`agent ${agent}` : say`agent ${agent} through ${join(others, ', ')}`;
}

export function describe(change: JournalEntry) {
  const { client, caller, agent, ending, decision, state, begunAt, decidedAt, madeAt } = change;
  const outcome = state === 'waiting' || state === 'approved' || state === 'begun' ? 'no outcome yet' : state;
  const code = ending?.code === undefined ? none : say` (${own(ending.code)})`;
  const inPart = ending?.failed === undefined ? none : say` (${ending.failed.count} failed)`;
  const { kind, way, person, reason, answeredAfterMs } = decision ?? {};
  const answered = answeredAfterMs === undefined ? none : say` after ${Math.round(answeredAfterMs / 1000)} s`;
  return {
    outcome: say`${shownTime(begunAt ?? decidedAt ?? madeAt)}  ${words(outcome)}${inPart}${code}`,
    people: sentences(
      // A refusal is no consent.
      way !== undefined && say`${words(kind === 'approved' ? 'consent' : 'decision')}: ${own(way)}${answered}`,
      say`client: ${quoted(client, 100)}`,
      caller !== undefined && say`caller: ${quoted(caller, 100)}`,
      agent !== undefined && shownAgent(agent),
      person !== undefined && say`decided by: ${quoted(person, 100)}`,
      reason !== undefined && say`reason: ${quoted(reason, 200)}`,
    ),
  };
}

const none = words('');

export const nothingYet = 'No changes yet.';

/** Returns the last changes as Markdown, oldest first. Without `caller` or `accounts`, of all of them. */
export async function journalText(
  changes: Pick<Changes, 'newest'>,
  caller: string | undefined,
  accounts?: readonly string[],
): Promise<string> {
  // Enough for 50, although waiting changes and those of other accounts are left out.
  const newest = await changes.newest({ caller, limit: 1000 });
  const selected = newest.filter(
    ({ account, state }) => state !== 'waiting' && (accounts === undefined || accounts.includes(account)),
  );
  const lines = selected.slice(0, 50).map((change) => {
    const { outcome, people } = describe(change);
    return `- ${[outcome, shownDeed(change), ...people].join('  ')}`;
  });
  return `# Journal\n\n${lines.reverse().join('\n') || nothingYet}\n`;
}
