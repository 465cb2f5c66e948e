import type { Account } from '../calls/account.js';
import type { ChangeTexts, Operation } from '../tools/define-operation.js';
import { textsAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { modesWithPerson } from './required-consent.js';

/** Longer names do not have to be typed (characters). */
const longestTyped = 40;

interface Deletion {
  readonly operation: Pick<Operation, 'effect'>;
  readonly change: Pick<ChangeTexts, 'identifies'>;
  readonly input: Readonly<Record<string, unknown>>;
  readonly account: Pick<Account, 'confirm' | 'confirmDelete'>;
}

/**
 * Returns the name that a person has to type to agree to a deletion; undefined if a click is enough, or if the name is hard to type. If several
 * things are deleted, the name of the first.
 */
export function nameToType({ operation, change, input, account }: Deletion): string | undefined {
  const { confirm, confirmDelete = 'type' } = account;
  if (operation.effect !== 'delete' || confirmDelete === 'click' || !modesWithPerson.includes(confirm))
    return undefined;
  const path = change.identifies?.at(-1);
  const [first = ''] = path === undefined ? [] : textsAt(input, path);
  const name = first.trim();
  return name === '' || name.length > longestTyped || escapeInvisible(name) !== name ? undefined : name;
}

/** True if the person typed the wanted name, or if no name is wanted. */
export const isTyped = (wanted: string | undefined, typed: string | undefined): boolean =>
  wanted === undefined || typed?.trim() === wanted;
