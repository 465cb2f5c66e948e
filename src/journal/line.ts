import * as z from 'zod';
import { once, valueAt } from '../util/objects.js';
import { type Ending, type Entry, endingSchema, type Intent, intentSchema, outcomes } from './entry.js';
import { keyFormat } from './key.js';

/** An intent as the journal's window keeps it: what the rules look for, and the whole as text until somebody asks for it. */
export interface IntentLine {
  readonly kind: 'intent';
  readonly id: string;
  /** Milliseconds, by the clock of whoever wrote it. */
  readonly time: number;
  readonly digest: string;
  readonly nonce: string | undefined;
  readonly budget: string | undefined;
  /** The bytes of the line as Latin-1, which takes a byte a character whatever it holds. */
  readonly text: string;
}

export interface EndingLine extends Pick<Ending, 'id' | 'outcome'> {
  readonly kind: 'ending';
  readonly time: number;
  readonly text: string;
}

/** An intent that cannot be read, perhaps of a newer version. It may be in conflict with any other. */
export interface NotUnderstood {
  readonly kind: 'notUnderstood';
  /** The time when it was written, in milliseconds; infinite if that cannot be read either. */
  readonly time: number;
}

export type Line = IntentLine | EndingLine | NotUnderstood;

const timeSchema = once(() => z.iso.datetime());

/** A line of the journal; undefined if it is none, as one that a crash cut short. */
export function readLine(line: Buffer): Line | undefined {
  return readQuickly(line) ?? readWhole(line);
}

const beginning = /^\{"(intent|ending)":\{"id":"([\w-]{1,64})"/;

/** The kind and the id of a line, without reading more of it than that takes. */
export function readId(line: Buffer): { readonly kind: Line['kind']; readonly id: string } | undefined {
  const [, kind, id] = beginning.exec(line.toString('latin1', 0, 96)) ?? [];
  if (id !== undefined) return { kind: kind === 'intent' ? 'intent' : 'ending', id };
  const read = readLine(line);
  return read === undefined || read.kind === 'notUnderstood' ? undefined : read;
}

/** The entry in a line; undefined if there is none that is understood. */
export const readEntry = (line: Buffer): Entry | undefined => entryOf(parseJson(line.toString('utf8')));

function entryOf(entry: unknown): Entry | undefined {
  const intent = valueAt(entry, 'intent');
  if (intent !== undefined) {
    const { data } = intentSchema().safeParse(intent);
    return data === undefined || isOfAnotherFormat(data) ? undefined : { intent: data };
  }
  const { data } = endingSchema().safeParse(valueAt(entry, 'ending'));
  return data === undefined ? undefined : { ending: data };
}

/**
 * The whole intent of a line.
 * @returns undefined if a crash cut the line short
 * @throws if it is not understood
 */
export function intentOf({ text }: IntentLine): Intent | undefined {
  const entry = parseJson(fromLatin1(text));
  return entry === undefined ? undefined : intentSchema().parse(valueAt(entry, 'intent'));
}

/** The whole ending of a line, or as much of it as a crash left. */
export function endingOf({ id, time, outcome, text }: EndingLine): Ending {
  const { data } = endingSchema().safeParse(valueAt(parseJson(fromLatin1(text)), 'ending'));
  return data ?? { id, time: new Date(time).toISOString(), outcome };
}

const fromLatin1 = (text: string) => Buffer.from(text, 'latin1').toString('utf8');

function readWhole(line: Buffer): Line | undefined {
  const parsed = parseJson(line.toString('utf8'));
  const entry = entryOf(parsed);
  const text = line.toString('latin1');
  if (entry === undefined) return notUnderstood(parsed);
  if ('ending' in entry) {
    const { id, time, outcome } = entry.ending;
    return { kind: 'ending', id, time: Date.parse(time), outcome, text };
  }
  const { id, time, digest, nonce, budget } = entry.intent;
  return { kind: 'intent', id, time: Date.parse(time), digest, nonce, budget, text };
}

function notUnderstood(entry: unknown): NotUnderstood | undefined {
  const intent = valueAt(entry, 'intent');
  if (intent === undefined) return undefined;
  const { data: time } = timeSchema().safeParse(valueAt(intent, 'time'));
  return { kind: 'notUnderstood', time: time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time) };
}

/** An entry whose key was made in another way: whether it stands for the same change cannot be told. */
const isOfAnotherFormat = ({ keyFormat: format = 1 }: Intent) => format !== keyFormat;

const intentStart = '{"intent":{"id":"';
const wholeEnding = /^\{"ending":\{"id":"([\w-]+)","time":"([\d:.TZ-]+)","outcome":"([a-z ]+)"[,}]/;

/** Parsing a line as JSON takes longer than all else that a journal of many thousand entries needs at the start. */
function readQuickly(line: Buffer): Line | undefined {
  const text = line.toString('latin1');
  return text.startsWith(intentStart) ? readIntent(text) : readEnding(text);
}

function readIntent(text: string): IntentLine | undefined {
  if (!text.endsWith('}}') || text.includes('"keyFormat":')) return undefined;
  const id = fieldOf(text, fields.id);
  const time = fieldOf(text, fields.time);
  const digest = fieldOf(text, fields.digest);
  const nonce = fieldOf(text, fields.nonce);
  const budget = fieldOf(text, fields.budget);
  const isLost = (value: string | undefined, { name }: Field) => value === undefined && text.includes(name);
  if (id === undefined || time === undefined || digest === undefined) return undefined;
  if (isLost(nonce, fields.nonce) || isLost(budget, fields.budget)) return undefined;
  return { kind: 'intent', id, time: Date.parse(time), digest, nonce, budget, text };
}

function readEnding(text: string): EndingLine | undefined {
  const [, id = '', time = '', outcome] = wholeEnding.exec(text) ?? [];
  const known = outcomes.find((each) => each === outcome);
  return known && { kind: 'ending', id, time: Date.parse(time), outcome: known, text };
}

interface Field {
  readonly name: string;
  readonly start: string;
}
const field = (name: string): Field => ({ name: `"${name}":`, start: `"${name}":"` });
const fields = {
  id: field('id'),
  time: field('time'),
  digest: field('digest'),
  nonce: field('nonce'),
  budget: field('budget'),
};

/**
 * The value of a field that is there once and is plain text. Inside other texts its name cannot pass for it, because JSON writes
 * their quotation marks as \".
 */
function fieldOf(text: string, { name, start }: Field): string | undefined {
  const found = text.indexOf(start);
  if (found < 0) return undefined;
  const from = found + start.length;
  const end = text.indexOf('"', from);
  if (text.indexOf(name, end) >= 0) return undefined;
  const value = text.slice(from, end);
  return plain.test(value) ? value : undefined;
}

const plain = /^[\w:.+-]*$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
