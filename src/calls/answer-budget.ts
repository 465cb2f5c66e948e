import type { Operation } from '../tools/define-operation.js';
import { sentences } from '../util/human.js';
import { isObject, valueAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import type { LeftOut, Success } from './outcome.js';

/** Limits answers for agents. Entries and texts are left out as a whole, so that nothing shortened can be written back. */

/** Characters of JSON, about 4,000 tokens. */
export const answerBudget = 16_000;
/** Budget if the call has picked fields, so that long texts can be read, too. */
export const pickedBudget = 70_000;
/** The longest answer that the store keeps with its change (characters of JSON). */
export const longestKept = 64 * 1024;

export interface AnsweredCall {
  readonly operation?: Operation | undefined;
  readonly args?: unknown;
}

/** Returns a result with the part of its answer that fits. */
export function withinBudget(success: Success, { operation, args }: AnsweredCall = {}): Success {
  if (success.answer === undefined) return success;
  const picking = operation === undefined ? 'fields' : (operation.fieldsArgument ?? '');
  const isPicked = Object.hasOwn(Object(args), picking);
  const { answer, leftOut } = fittingPart(success.answer, isPicked);
  if (leftOut.length === 0 || !isObject(answer)) return success;

  const { next, ...others } = success;
  const isRead = operation?.effect === 'read';
  // The step after a read may lead past the entries that were left out.
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

export const fitsBudget = (answer: unknown, isPicked: boolean): boolean =>
  fittingPart(answer, isPicked).leftOut.length === 0;

function fittingPart(whole: unknown, isPicked: boolean) {
  const copier = new AnswerCopier(isPicked ? pickedBudget : answerBudget);
  return { answer: copier.copy(whole, ''), leftOut: copier.leftOut };
}

/** A change must not be called again. */
function wayToLook([first]: readonly LeftOut[], answer: unknown, { changeId, answer: whole }: Success): SafeText {
  const isKept = JSON.stringify(whole).length <= longestKept;
  if (changeId === undefined || first === undefined || !isKept) return words('');
  return say` To get it, call get_change with fields such as [${pathToPick(first, answer)}].`;
}

function waysToRead(leftOut: readonly LeftOut[], answer: unknown, { fieldsArgument, input }: Operation): SafeText {
  const [first] = leftOut;
  const pageSize = Object.keys(input().shape).find((name) =>
    /^[Mm]ax[A-Z_-].*s$|^(?:[Pp]age_?)?[Ll]imit$|^[Pp]age_?[Ss]ize$/.test(name),
  );
  const ways = sentences(
    fieldsArgument !== undefined &&
      first !== undefined &&
      say`with ${own(fieldsArgument)} such as [${pathToPick(first, answer)}]`,
    pageSize !== undefined && say`with a small ${own(pageSize)}`,
    words('with arguments that select less, or that begin after the last entry here'),
  );
  return say` To get it, call ${join(ways, ', ')}. A person gets all of it from cloudops-mcp call.`;
}

function pathToPick(part: LeftOut, answer: unknown): string {
  // A name with a dot cannot stand in a path, so the object around it is picked.
  const [path = ''] = part.path.split('["');
  const entries = valueAt(answer, path);
  const [name] = Array.isArray(entries) && isObject(entries[0]) ? Object.keys(entries[0]) : [];
  return name === undefined ? path : `${path}[].${name}`;
}

const mostFields = 10;
const longestName = 100;

const lengthOf = (value: unknown): number => escapeJson(JSON.stringify(value) ?? '').length + 1;

class AnswerCopier {
  #room: number;
  readonly leftOut: LeftOut[] = [];

  constructor(room: number) {
    this.#room = room;
  }

  copy(value: unknown, path: string): unknown {
    if (typeof value === 'string') return this.#copyText(value);
    if (Array.isArray(value)) return this.#copyList(value, path);
    if (isObject(value)) return this.#copyFields(value, path);
    this.#room -= lengthOf(value);
    return value;
  }

  #copyText(text: string): string | undefined {
    // The length in JSON of megabytes takes long to compute.
    const length = text.length > this.#room ? Number.POSITIVE_INFINITY : lengthOf(text);
    if (length > this.#room) return undefined;
    this.#room -= length;
    return text;
  }

  #copyList(entries: readonly unknown[], path: string): unknown[] {
    this.#room -= lengthOf([]);
    const copied: unknown[] = [];
    for (const [index, entry] of entries.entries()) {
      const [room, parts] = [this.#room, this.leftOut.length];
      const copy = room > 0 ? this.copy(entry, `${path}[${index}]`) : undefined;
      const isWhole = this.leftOut.length === parts && this.#room >= 0;
      // With less room (characters), a list does not begin with an entry that does not fit.
      if (copy === undefined || (!isWhole && (index > 0 || room < 3000))) {
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
    for (const [unfitPath, value] of unfit.slice(0, mostFields)) {
      const isList = typeof value === 'object' && value !== null;
      const size = isList ? { entries: Object.keys(value).length } : { characters: String(value).length };
      this.leftOut.push({ path: unfitPath, ...size });
    }
    if (unfit.length > mostFields) this.leftOut.push({ path, entries: unfit.length - mostFields });
    const inOriginalOrder = Object.keys(fields).filter((name) => copied.has(name));
    return Object.fromEntries(inOriginalOrder.map((name) => [name, copied.get(name)]));
  }
}

/** A name that would look like several steps is written as JSON. */
function pathOf(path: string, name: string): string {
  if (name === '' || name.length > longestName || /[.[\]]/.test(name))
    return `${path}[${JSON.stringify(name.slice(0, longestName))}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** Short values come first, so that long ones leave room for them. */
const longestLast = (fields: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] => {
  const rank = (value: unknown) => {
    if (Array.isArray(value)) return 3;
    // Longer texts (characters) leave room for the other fields of their object.
    if (typeof value === 'string') return value.length > 3000 ? 2 : 0;
    return isObject(value) ? 1 : 0;
  };
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .sort(([, a], [, b]) => rank(a) - rank(b));
};

/** Picks the parts of an answer at some paths, such as `Volumes[].VolumeId` or `Items[3].Text`. */
export function pickFields(
  answer: Readonly<Record<string, unknown>>,
  paths: readonly string[],
): Record<string, unknown> {
  const steps = paths.map((path): readonly string[] => path.match(/\[\d*\]|[^.[\]]+/g) ?? []);
  return { ...Object(pick(answer, steps)) };
}

function pick(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.length === 0) return undefined;
  if (paths.some(({ length }) => length === 0)) return value;
  if (Array.isArray(value)) {
    const inEntry = (index: number) =>
      paths.flatMap((path) => {
        const [step = '', ...rest] = path;
        // Without brackets, a name leads into every entry.
        if (!step.startsWith('[')) return [path];
        return step === '[]' || step === `[${index}]` ? [rest] : [];
      });
    return value.map((entry, index) => pick(entry, inEntry(index))).filter((entry) => entry !== undefined);
  }
  if (!isObject(value)) return undefined;
  const fields = Object.entries(value).map(([name, field]) => {
    const rests = paths.flatMap(([step, ...rest]) => (step === name ? [rest] : []));
    return [name, pick(field, rests)] as const;
  });
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}
