import type { Operation } from '../tools/define-operation.js';
import { sentences } from '../util/human.js';
import { isObject, valueAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import type { LeftOut, Success } from './outcome.js';

/**
 * This file limits answers for agents. Entries at the end of lists, and texts, are left out as a whole and named, so that nothing shortened can be
 * taken for the data and written back.
 */

/** Budget of an answer in characters of JSON, about 4,000 tokens. */
export const answerBudget = 16_000;
/** Budget of an answer of which the call has picked fields, so that long texts can be read, too. */
export const pickedBudget = 60_000;

/** The call that a result answers. `operation` is absent for a tool that is no operation, such as `get_change`. */
export interface AnsweredCall {
  readonly operation?: Operation | undefined;
  readonly args?: unknown;
}

/** Returns a result with the part of its answer that fits into the budget. It names what was left out, and says how to get that. */
export function withinBudget(success: Success, { operation, args }: AnsweredCall = {}): Success {
  if (success.answer === undefined) return success;
  const picking = operation === undefined ? 'fields' : (operation.fieldsArgument ?? '');
  const isPicked = Object.hasOwn(Object(args), picking);
  const copier = new AnswerCopier(isPicked ? pickedBudget : answerBudget);
  const answer = copier.copy(success.answer, '');
  const { leftOut } = copier;
  if (leftOut.length === 0 || !isObject(answer)) return success;

  const { next, ...others } = success;
  const isRead = operation?.effect === 'read';
  // The step after a read may lead to the first unread page, past the entries that were left out.
  const leadsPast = isRead && leftOut.some((part) => 'entries' in part);
  const howTo = isRead ? waysToRead(leftOut, answer, operation) : wayToLook(leftOut, answer, success);
  return {
    ...others,
    ...(next !== undefined && !leadsPast && { next }),
    warnings: [...success.warnings, say`The answer is too long: leftOut names what is not in it.${howTo}`],
    leftOut,
    answer,
  };
}

/** True if an answer fits into the budget. @param isPicked true if the call has picked fields of the answer */
export function fitsBudget(answer: unknown, isPicked: boolean): boolean {
  const copier = new AnswerCopier(isPicked ? pickedBudget : answerBudget);
  copier.copy(answer, '');
  return copier.leftOut.length === 0;
}

/** Says how to get what is left out of the answer of a change, which must not be called again. */
function wayToLook([first]: readonly LeftOut[], answer: unknown, { changeId }: Success): SafeText {
  if (changeId === undefined || first === undefined) return words('');
  return say` To get it, call get_change with fields such as [${pathToPick(first, answer)}].`;
}

/** Says how to get what a read left out. */
function waysToRead(leftOut: readonly LeftOut[], answer: unknown, { fieldsArgument, input }: Operation): SafeText {
  const [first] = leftOut;
  const pageSize = Object.keys(input().shape).find((name) => namesPageSize.test(name));
  const ways = sentences(
    fieldsArgument !== undefined &&
      first !== undefined &&
      say`with ${own(fieldsArgument)} such as [${pathToPick(first, answer)}]`,
    pageSize !== undefined && say`with a small ${own(pageSize)}`,
    words('with arguments that select less, or that begin after the last entry here'),
  );
  return say` To get it, call ${join(ways, ', ')}. A person gets all of it from cloudops-mcp call.`;
}

/** Names of arguments that limit the number of entries in an answer, such as `MaxKeys`. */
const namesPageSize = /^[Mm]ax[A-Z_-].*s$|^(?:[Pp]age_?)?[Ll]imit$|^[Pp]age_?[Ss]ize$/;

/** Returns a path whose value is likely to fit: that of a text, or that of the first field of the entries. */
function pathToPick(part: LeftOut, answer: unknown): string {
  const entries = valueAt(answer, part.path);
  const [name] = Array.isArray(entries) && isObject(entries[0]) ? Object.keys(entries[0]) : [];
  return name === undefined ? part.path : `${part.path}[].${name}`;
}

/** Longer texts (characters) leave room for the other fields of their object. */
const longText = 3000;
/** With less room (characters), a list does not begin with an entry that does not fit. */
const roomForPart = 3000;
/** Maximum number of fields of an object that are named if they are left out. Others are counted. */
const mostFields = 10;
/** Maximum length of a field's name in a path (characters). */
const longestName = 100;

/** The length of a value in JSON as it is sent, with the punctuation after it. */
const lengthOf = (value: unknown): number => escapeJson(JSON.stringify(value) ?? '').length + 1;

/** Copies an answer until the copy has as many characters of JSON as there is room for. */
class AnswerCopier {
  /** Characters that the rest of the copy may have. */
  #room: number;
  readonly leftOut: LeftOut[] = [];

  constructor(room: number) {
    this.#room = room;
  }

  /** Copies a value, and subtracts its characters from the room. Returns undefined for a text that does not fit. */
  copy(value: unknown, path: string): unknown {
    if (typeof value === 'string') return this.#copyText(value);
    if (Array.isArray(value)) return this.#copyList(value, path);
    if (isObject(value)) return this.#copyFields(value, path);
    this.#room -= lengthOf(value);
    return value;
  }

  #copyText(text: string): string | undefined {
    // The length in JSON of a text with megabytes is not computed, because it takes long.
    const length = text.length > this.#room ? Number.POSITIVE_INFINITY : lengthOf(text);
    if (length > this.#room) return undefined;
    this.#room -= length;
    return text;
  }

  /** Copies the entries for which there is room. A part of a long first entry stays, because it is better than none. */
  #copyList(entries: readonly unknown[], path: string): unknown[] {
    this.#room -= lengthOf([]);
    const copied: unknown[] = [];
    for (const [index, entry] of entries.entries()) {
      const [room, parts] = [this.#room, this.leftOut.length];
      const copy = room > 0 ? this.copy(entry, `${path}[${index}]`) : undefined;
      const isWhole = this.leftOut.length === parts && this.#room >= 0;
      if (copy === undefined || (!isWhole && (index > 0 || room < roomForPart))) {
        // The whole entry is left out, so its own parts are not named.
        [this.#room, this.leftOut.length] = [room, parts];
        break;
      }
      copied.push(copy);
    }
    if (copied.length < entries.length) this.leftOut.push({ path, entries: entries.length - copied.length });
    return copied;
  }

  #copyFields(fields: Readonly<Record<string, unknown>>, path: string): Record<string, unknown> {
    this.#room -= lengthOf({});
    const copied = new Map<string, unknown>();
    const unfit: (readonly [path: string, value: unknown])[] = [];
    for (const [name, value] of longestLast(fields)) {
      const room = this.#room;
      this.#room -= name.length > room ? room : lengthOf(name);
      const copy = this.#room > 0 ? this.copy(value, pathOf(path, name)) : undefined;
      if (copy !== undefined) copied.set(name, copy);
      else {
        this.#room = room;
        unfit.push([pathOf(path, name), value]);
      }
    }
    this.leftOut.push(...unfit.slice(0, mostFields).map(([unfitPath, value]) => partOf(unfitPath, value)));
    if (unfit.length > mostFields) this.leftOut.push({ path, entries: unfit.length - mostFields });
    const inOriginalOrder = Object.keys(fields).filter((name) => copied.has(name));
    return Object.fromEntries(inOriginalOrder.map((name) => [name, copied.get(name)]));
  }
}

/** The path of a field. A name that would look like several steps is written as JSON. */
function pathOf(path: string, name: string): string {
  if (name === '' || name.length > longestName || /[.[\]]/.test(name))
    return `${path}[${JSON.stringify(name.slice(0, longestName))}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** Describes a value that was left out: the number of its entries or fields, or its length as text. */
function partOf(path: string, value: unknown): LeftOut {
  if (typeof value !== 'object' || value === null) return { path, characters: String(value).length };
  return { path, entries: Object.keys(value).length };
}

/** The fields of an object: first the short values, then the objects, the long texts and the lists, so that these leave room for the others. */
const longestLast = (fields: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] => {
  const rank = (value: unknown) => {
    if (Array.isArray(value)) return 3;
    if (typeof value === 'string') return value.length > longText ? 2 : 0;
    return isObject(value) ? 1 : 0;
  };
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .sort(([, a], [, b]) => rank(a) - rank(b));
};
