import * as z from 'zod';
import { isObject, lazy, valueAt } from '../util/objects.js';
import { type Ending, type Entry, endingSchema, type Intent, intentSchema, outcomes } from './entry.js';
import { keyFormat } from './repetition-key.js';

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

const timeSchema = lazy(() => z.iso.datetime());

/**
 * A line of the journal; undefined if it is none, as one that a crash cut short.
 * @param text its bytes as Latin-1
 */
export function readLine(text: string): Line | undefined {
  return readUsual(text) ?? readPlain(text) ?? readWhole(text);
}

/**
 * Whole lines with the fields in the order in which servers write them, and plain text in those that the rules look for. Matching them
 * takes half as long as parsing, which took most of the time of a first change. At each place of a line there is one way to go on, so
 * that no time is lost with those that don't match.
 */
const [usualIntent, usualEnding] = (() => {
  const plain = '"([\\w:.+-]*)"';
  const letters = '[^"\\\\\\x00-\\x1f]*';
  const text = `"${letters}(?:\\\\(?:["\\\\/bfnrt]|u[\\da-fA-F]{4})${letters})*"`;
  const number = '(?:0|[1-9]\\d*)(?:\\.\\d+)?';
  const process = `"process":\\{"pid":${number},"host":${text}\\}`;
  const otherText = `"(?!(?:id|time|digest|nonce|budget|keyFormat)")\\w+":${text}`;
  const others = `(?:,(?:${otherText}|${process}|"answeredAfterMs":${number}))*`;
  const intent = `"id":${plain}${others},"digest":${plain}${others}(?:,"budget":${plain}${others})?,"time":${plain}${others}(?:,"nonce":${plain}${others})?`;
  const requestIds = `"requestIds":\\{(?:${text}:${text}(?:,${text}:${text})*)?\\}`;
  const rest = `(?:,(?:"(?:key|code)":${text}|"status":${number}|${requestIds}))*`;
  const ending = `"id":${plain},"time":${plain},"outcome":"(${outcomes.join('|')})"${rest}`;
  return [new RegExp(`^\\{"intent":\\{${intent}\\}\\}$`), new RegExp(`^\\{"ending":\\{${ending}\\}\\}$`)];
})();

function readUsual(text: string): Line | undefined {
  const [, ended, endedAt = '', outcome] = usualEnding.exec(text) ?? [];
  const known = outcomes.find((each) => each === outcome);
  if (ended !== undefined && known !== undefined)
    return { kind: 'ending', id: ended, time: Date.parse(endedAt), outcome: known, text };
  const [, id, digest, budget, time, nonce] = usualIntent.exec(text) ?? [];
  if (id === undefined || digest === undefined || time === undefined) return undefined;
  return { kind: 'intent', id, time: Date.parse(time), digest, nonce, budget, text };
}

/** Reads only what the rules look for. */
function readPlain(text: string): Line | undefined {
  // The bytes of UTF-8 are valid in JSON as Latin-1 too, and what is plain is the same in both.
  const { intent, ending } = fieldsOf(parseJson(text));
  return intent === undefined ? endingIn(fieldsOf(ending), text) : intentIn(fieldsOf(intent), text);
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

const isPlain = (value: unknown): value is string => typeof value === 'string' && /^[\w:.+-]*$/.test(value);
const isPlainIfThere = (value: unknown): value is string | undefined => value === undefined || isPlain(value);

function intentIn(fields: Readonly<Record<string, unknown>>, text: string): IntentLine | undefined {
  const { id, time, digest, nonce, budget, keyFormat: format } = fields;
  if (!isPlain(id) || !isPlain(time) || !isPlain(digest) || format !== undefined) return undefined;
  if (!isPlainIfThere(nonce) || !isPlainIfThere(budget)) return undefined;
  return { kind: 'intent', id, time: Date.parse(time), digest, nonce, budget, text };
}

function endingIn({ id, time, outcome }: Readonly<Record<string, unknown>>, text: string): EndingLine | undefined {
  const known = outcomes.find((each) => each === outcome);
  if (!isPlain(id) || !isPlain(time) || known === undefined) return undefined;
  return { kind: 'ending', id, time: Date.parse(time), outcome: known, text };
}

const beginning = /^\{"(intent|ending)":\{"id":"([\w-]{1,64})"/;

/** The kind and the id of a line, without reading more of it than that takes. */
export function readId(text: string): { readonly kind: Line['kind']; readonly id: string } | undefined {
  const [, kind, id] = beginning.exec(text) ?? [];
  if (id !== undefined) return { kind: kind === 'intent' ? 'intent' : 'ending', id };
  const read = readLine(text);
  return read === undefined || read.kind === 'notUnderstood' ? undefined : read;
}

/** The entry in a line; undefined if there is none that is understood. */
export const readEntry = (text: string): Entry | undefined => entryOf(parseJson(decoded(text)));

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
 * @throws if it is not understood
 */
export const parseIntent = ({ text }: Pick<IntentLine, 'text'>): Intent =>
  intentSchema().parse(valueAt(parseJson(decoded(text)), 'intent'));

/** The whole ending of a line, or as much of it as is understood. */
export function parseEnding({ id, time, outcome, text }: Omit<EndingLine, 'kind'>): Ending {
  const { data } = endingSchema().safeParse(valueAt(parseJson(decoded(text)), 'ending'));
  return data ?? { id, time: new Date(time).toISOString(), outcome };
}

function readWhole(text: string): Line | undefined {
  const parsed = parseJson(decoded(text));
  const entry = entryOf(parsed);
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

const decoded = (text: string) => Buffer.from(text, 'latin1').toString('utf8');

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
