import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type NamedOperation, operations } from './dispatch.js';
import { type Answer, emptyAnswer, splitOnce } from './http.js';
import { SandboxProblem } from './state.js';

export interface Exchange {
  readonly operation: string;
  readonly incoming: IncomingMessage;
  /** Carries out the request. Resolves with its answer, which has not been sent yet. */
  act(): Promise<Answer>;
}

/** `amount` is in the unit of the kind. `times` is infinite if the fault never ends. */
interface Fault {
  readonly operation: string;
  readonly kind: string;
  readonly amount: number | undefined;
  times: number;
}

/** Faults and delays of a sandbox. */
export interface FaultRules {
  /** Faults of the same operation happen in this order. */
  readonly faults: readonly Fault[];
  /** Milliseconds before an answer; `random` gives numbers from 0 to below 1. */
  readonly latency: (random: () => number) => number;
  /** Seconds by which the sandbox's clock is ahead. */
  readonly skewSeconds: number;
}

/** Resolves with the answer to send, or with undefined to send nothing. */
type Kind = (exchange: Exchange, amount: number | undefined) => Promise<Answer | undefined>;

const reset = async ({ incoming }: Exchange) => void incoming.socket.resetAndDestroy();

/** A fault that carries out the request and changes the body of the answer. */
const changeBody =
  (change: (body: string, amount: number | undefined, exchange: Exchange) => string): Kind =>
  async (exchange, amount) => {
    const answer = await exchange.act();
    return { ...answer, body: change(answer.body, amount, exchange) };
  };

/** A fault that answers without carrying out the request. */
const answerInstead =
  (status: number, headers: (amount?: number) => Record<string, string> = () => ({}), body = ''): Kind =>
  async ({ incoming }, amount) => {
    if (!incoming.readableEnded) await once(incoming.resume(), 'end');
    return { status, headers: headers(amount), body };
  };

/** Says that a list of parts is not complete, and leaves out where it continues. */
const withoutMarkers = (body: string) =>
  body
    .replace(/<(PartNumberMarker|NextPartNumberMarker)>\d*<\/\1>/g, '')
    .replace('<IsTruncated>false<', '<IsTruncated>true<');

/** Says that a list of parts continues where it began. */
function withSameMarker(body: string, url = '') {
  const marker = /[?&]part-number-marker=(\d+)/.exec(url)?.[1] ?? '0';
  return withoutMarkers(body).replace('<IsTruncated>', `<NextPartNumberMarker>${marker}</NextPartNumberMarker>$&`);
}

const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['reset-before-request', reset],
  ['reset-after-request', (exchange) => exchange.act().then(() => reset(exchange))],
  ['hang', async ({ act }) => void (await act())],
  ['half-body', (exchange) => inPieces(exchange, 2, 0, 1)],
  ['slow-body', (exchange, pause = 1000) => inPieces(exchange, 10, pause, 10)],
  ['empty', changeBody(() => '')],
  ['truncated', changeBody((body) => body.slice(0, body.length / 2))],
  ['malformed', changeBody((body) => body.replace(/":|<\//, ' '))],
  ['oversized', changeBody((body, megabytes = 32) => body + ' '.repeat(megabytes * 1024 * 1024))],
  ['marker-loop', changeBody((body, _, { incoming }) => withSameMarker(body, incoming.url))],
  ['no-marker', changeBody(withoutMarkers)],
  ['html', answerInstead(200, () => ({ 'content-type': 'text/html' }), '<!DOCTYPE html><title>Sign in</title>')],
  ['redirect', answerInstead(307, () => ({ location: '/moved' }))],
  ['429', answerInstead(429, (seconds = 1) => ({ 'retry-after': String(seconds) }))],
  ...[500, 502, 503, 509].map((status) => [String(status), answerInstead(status)] as const),
  // A gateway stops waiting, and the service behind it continues.
  ['504', ({ act }) => act().then(() => emptyAnswer({}, 504))],
]);

export const faultKinds: readonly string[] = [...kinds.keys()];

/**
 * Sends the first `sent` of `pieces` equal pieces of an answer, with a pause (milliseconds) after each. Closes the connection if pieces are
 * left out.
 */
async function inPieces({ act, incoming }: Exchange, pieces: number, pauseMs: number, sent: number): Promise<Answer> {
  const answer = await act();
  const { headers, body, content = [Buffer.from(body)] } = answer;
  const totalBytes = Number(headers['content-length'] ?? Buffer.byteLength(body));
  const pieceBytes = Math.ceil(totalBytes / pieces);
  const slowContent = Readable.from(slowly(content, pieceBytes, pieceBytes * sent, pauseMs));
  if (sent < pieces) slowContent.once('end', () => incoming.socket.end());
  return { ...answer, headers: { ...headers, 'content-length': String(totalBytes) }, content: slowContent };
}

/** Yields at most `maximum` bytes of a content, with a pause after every `pieceBytes`. */
async function* slowly(
  content: Readable | readonly Buffer[],
  pieceBytes: number,
  maximum: number,
  pauseMs: number,
): AsyncGenerator<Buffer> {
  let sentBytes = 0;
  for await (const chunk of content) {
    let unsent: Buffer = chunk;
    while (unsent.length > 0 && sentBytes < maximum) {
      const bytesToPieceEnd = pieceBytes - (sentBytes % pieceBytes);
      const piece = unsent.subarray(0, bytesToPieceEnd);
      unsent = unsent.subarray(piece.length);
      sentBytes += piece.length;
      yield piece;
      if (sentBytes % pieceBytes === 0) await delay(pauseMs);
    }
  }
}

/** True if a fault can happen to an operation. Faults that change or cut a body need an answer with a body. */
function canHappen(
  { operation: faultyOperation, kind }: Pick<Fault, 'operation' | 'kind'>,
  { name, request, answersBytes }: NamedOperation,
): boolean {
  if (faultyOperation !== '*' && faultyOperation !== name) return false;
  if (kind.includes('marker')) return name === 'list_parts';
  const hasBody = /^(GET|POST) /.test(request);
  if (kind.endsWith('-body')) return hasBody;
  const needsDocument = ['empty', 'truncated', 'malformed', 'oversized'].includes(kind);
  return !needsDocument || (hasBody && answersBytes === undefined);
}

/** Makes requests fail by the rules; `random` gives numbers from 0 to below 1. */
export function createFaults({ faults, latency }: FaultRules, random: () => number) {
  const remaining = faults.map((fault) => ({ ...fault }));
  /** Returns the fault for the next request of an operation, and counts it as used. */
  function next(name: string): Fault | undefined {
    const operation = operations.find((candidate) => candidate.name === name);
    if (operation === undefined) return undefined;
    const fault = remaining.find((candidate) => candidate.times > 0 && canHappen(candidate, operation));
    if (fault !== undefined) fault.times -= 1;
    return fault;
  }
  /** Waits, then resolves with the answer to send. A fault changes or removes the answer. */
  async function answer(exchange: Exchange): Promise<Answer | undefined> {
    const fault = next(exchange.operation);
    const latencyMs = latency(random);
    if (latencyMs > 0) await delay(latencyMs);
    return fault === undefined ? exchange.act() : kinds.get(fault.kind)?.(exchange, fault.amount);
  }
  return { next, answer };
}

export const noFaults: FaultRules = { faults: [], latency: () => 0, skewSeconds: 0 };

/** Parses faults, or the file named after an `@`. */
export function loadFaults(text: string): FaultRules {
  let faults = text;
  try {
    if (text.startsWith('@')) faults = readFileSync(text.slice(1), 'utf8');
  } catch {
    throw new SandboxProblem(`The faults in ${text.slice(1)} cannot be read.`);
  }
  return parseFaults(faults);
}

/**
 * Parses `restore_instance=reset-after-request*2,list_parts=503*3,latency=uniform(10,200),skew=1200`, separated by commas
 * or line breaks. Throws a `SandboxProblem` about the first mistake.
 */
export function parseFaults(text: string): FaultRules {
  let rules = noFaults;
  // Commas in parentheses do not separate.
  const pairs = text.split(/\n|,(?![^(\n]*\))/).filter((pair) => pair.trim() !== '');
  for (const pair of pairs) {
    const [name = '', value = ''] = splitOnce(pair, '=').map((part) => part.trim());
    const rule = readRule(name, value);
    if (typeof rule === 'string') throw new SandboxProblem(rule);
    rules = { ...rules, ...rule, faults: [...rules.faults, ...(rule.faults ?? [])] };
  }
  return rules;
}

/** Parses one rule. Returns the problem as a sentence if the rule is invalid. */
function readRule(name: string, value: string): Partial<FaultRules> | string {
  if (name === 'latency') return readLatency(value);
  return name === 'skew' ? readSkew(value) : readFault(name, value);
}

function readFault(operation: string, value: string): Partial<FaultRules> | string {
  const names = operations.map(({ name }) => name);
  if (operation !== '*' && !names.includes(operation))
    return `${operation} is not an operation; the nearest is ${nearest(operation, [...names, 'latency', 'skew'])}.`;
  const [, kind = '', amount, times] = /^([\w-]+)(?::(\d{1,6}))?(?:\*([1-9]\d{0,5}))?$/.exec(value) ?? [];
  if (kind === '') return `${value || operation} is not a fault: write kind, kind:amount or kind*times, such as 503*3.`;
  if (!kinds.has(kind)) return `${kind} is not a fault; the nearest is ${nearest(kind, kinds.keys())}.`;
  if (kind.includes('marker') && operation !== 'list_parts') return `${kind} is a fault of list_parts only.`;
  if (!operations.some((candidate) => canHappen({ operation, kind }, candidate)))
    return `${kind} needs an answer with a body, which ${operation} does not have.`;
  const fault = { operation, kind, amount: amount === undefined ? undefined : Number(amount) };
  return { faults: [{ ...fault, times: Number(times ?? Number.POSITIVE_INFINITY) }] };
}

const readSkew = (value: string): Partial<FaultRules> | string =>
  /^-?\d{1,9}$/.test(value) ? { skewSeconds: Number(value) } : 'skew must be a whole number of seconds.';

const gaussian = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Milliseconds between two bounds, around a mean with a deviation, or with a median and a 99th percentile (log-normal). */
const distributions: ReadonlyMap<string, (a: number, b: number) => FaultRules['latency']> = new Map([
  ['uniform', (from, to) => (random) => from + (to - from) * random()],
  ['normal', (mean, deviation) => (random) => Math.max(0, mean + deviation * gaussian(random))],
  ['p50-p99', (median, p99) => (random) => median * (p99 / median) ** (gaussian(random) / 2.326)],
]);

function readLatency(value: string): Partial<FaultRules> | string {
  const [, name = '', a, b] = /^([\w-]+)\((\d{1,6}), *(\d{1,6})\)$/.exec(value) ?? [];
  const latency = distributions.get(name)?.(Number(a), Number(b));
  return latency === undefined
    ? 'latency must be uniform(from,to), normal(mean,deviation) or p50-p99(median,percentile), in milliseconds.'
    : { latency };
}

/** The word that shares the most pairs of letters with a misspelt word. */
function nearest(misspelt: string, words: Iterable<string>): string {
  const pairs = (word: string) => Array.from(word, (letter, index) => letter + (word[index + 1] ?? ''));
  const shared = (word: string) => pairs(word).filter((pair) => misspelt.includes(pair)).length / word.length;
  return [...words].reduce((best, word) => (shared(word) > shared(best) ? word : best));
}
