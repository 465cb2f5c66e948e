import type { Account } from '../calls/account.js';
import { Refusal } from '../calls/refusal.js';
import type { ChangeTexts, Operation } from '../tools/define-operation.js';
import { textsAt, valueAt } from '../util/objects.js';
import { escapeInvisible, quote } from '../util/quote.js';
import { exact, type SafeText, say, words } from '../util/safe-text.js';
import { modesWithPerson } from './required-consent.js';

/** A person types only the end of longer names (characters). */
const longestTyped = 40;
const typedEnd = 8;

interface Deletion {
  readonly operation: Pick<Operation, 'effect'>;
  readonly change: Pick<ChangeTexts, 'identifies' | 'typedVerb'>;
  readonly input: Readonly<Record<string, unknown>>;
  readonly account: Pick<Account, 'confirm' | 'confirmDelete'>;
}

/** Returns what a person has to type to agree to a deletion: a name, its end, or `delete 3`. Undefined if a click is enough. */
export function nameToType({ operation, change, input, account }: Deletion): string | undefined | Refusal {
  const { confirm, confirmDelete = 'type' } = account;
  if (operation.effect !== 'delete' || confirm === 'off') return undefined;
  const path = change.identifies?.at(-1) ?? '';
  const names = textsAt(input, path);
  // `\u2800` is the blank character of Braille.
  if (names.some((name) => /^[\s\u2800]*$/.test(name) || escapeInvisible(name) !== name))
    return new Refusal('InvalidArguments', [
      say`a name of what would be deleted is blank or has invisible characters, so that nobody can check it`,
    ]);
  if (confirmDelete === 'click' || !modesWithPerson.includes(confirm)) return undefined;
  return thingToType({ change, input });
}

/** Names what is changed: its name, the end of a long name, or a verb and a number. */
export function thingToType({ change, input }: Pick<Deletion, 'change' | 'input'>): string {
  const path = change.identifies?.at(-1) ?? '';
  const names = textsAt(input, path);
  // Entries of a list count even without a name.
  const list = valueAt(input, path.split('[]')[0] ?? '');
  const count = Array.isArray(list) ? list.length : names.length;
  const [name] = names;
  if (count === 1 && name !== undefined) {
    const whole = name.trim();
    // An ARN or a URL begins alike for many things.
    const isLong = whole.length > longestTyped || /^arn:|^[a-z][a-z0-9+.-]*:\/\//i.test(whole);
    return isLong ? [...whole].slice(-typedEnd).join('').trim() : whole;
  }
  // A deletion that names nothing may delete everything.
  const { typedVerb = 'delete' } = change;
  return count === 0 ? typedVerb : `${typedVerb} ${count}`;
}

/** The sentence that tells a person what to type. */
export const typePrompt = (typedName: string): SafeText => say`To go ahead, type ${typedName}`;

/** The label of a form's field. Claude Code cuts labels after 45 characters, and escapes quotation marks in them. */
export const typeLabel = (typedName: string): SafeText => say`Type ${exact(typedName)}`;

export const declineLabel = words('Do nothing');

export const notTyped = words('That does not match.');

/** True if the person typed what is wanted, or if nothing is wanted. */
export function isTyped(wanted: string | undefined, typed: string | undefined): boolean {
  if (wanted === undefined) return true;
  const shown = quote(wanted);
  return [wanted, shown, shown.slice(1, -1)].includes(typed?.trim() ?? '');
}
