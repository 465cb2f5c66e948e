import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type NamedOperation, operations } from './dispatch.js';
import { type Answer, emptyAnswer, splitOnce } from './http.js';
import { SandboxProblem } from './state.js';

export interface Exchange {
  /** Name of the operation, or `unknown` if the sandbox has no such operation. */
  readonly operationName: string;
  readonly incoming: IncomingMessage;
  /** Runs the operation. Resolves with its answer, which a fault may send, change or drop. */
  answerNormally(): Promise<Answer>;
}

/** A fault, such as three times the status 503 for `list_parts`. The unit of `amount` depends on `kind`, and `times` may be infinite. */
interface Fault {
  readonly operation: string;
  readonly kind: string;
  readonly amount: number | undefined;
  times: number;
}

/** Faults and delays of a sandbox. */
export interface FaultRules {
  /** For each operation, its faults happen in the order of this list. */
  readonly faults: readonly Fault[];
  /** Returns the milliseconds before an answer. `random` returns numbers from 0 to below 1. */
  readonly latency: (random: () => number) => number;
  /** The number of seconds by which the sandbox's clock is ahead of the real time. */
  readonly skewSeconds: number;
}

/** The effect of a kind of fault on one request. Resolves with the answer to send, or with undefined if nothing is sent. */
type Effect = (exchange: Exchange, amount: number | undefined) => Promise<Answer | undefined>;

const reset = async ({ incoming }: Exchange) => void incoming.socket.resetAndDestroy();

/** A fault that runs the operation and changes the body of the answer. */
const changeBody =
  (change: (body: string, amount: number | undefined, exchange: Exchange) => string): Effect =>
  async (exchange, amount) => {
    const answer = await exchange.answerNormally();
    return { ...answer, body: change(answer.body, amount, exchange) };
  };

/** A fault that sends another answer and does not run the operation. The body of the request is still read to its end. */
const answerInstead =
  (status: number, headers: (amount?: number) => Record<string, string> = () => ({}), body = ''): Effect =>
  async ({ incoming }, amount) => {
    if (!incoming.readableEnded) await once(incoming.resume(), 'end');
    return { status, headers: headers(amount), body };
  };

/** Makes the answer of `list_parts` say that more parts follow, but not from which marker. */
const withoutMarkers = (body: string) =>
  body
    .replace(/<(PartNumberMarker|NextPartNumberMarker)>\d*<\/\1>/g, '')
    .replace('<IsTruncated>false<', '<IsTruncated>true<');

/** Makes the answer of `list_parts` say that more parts follow from the marker of this request, so that a naive client loops. */
function withSameMarker(body: string, url = '') {
  const marker = /[?&]part-number-marker=(\d+)/.exec(url)?.[1] ?? '0';
  return withoutMarkers(body).replace('<IsTruncated>', `<NextPartNumberMarker>${marker}</NextPartNumberMarker>$&`);
}

const effectsByKind: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  ['reset-before-request', reset],
  ['reset-after-request', (exchange) => exchange.answerNormally().then(() => reset(exchange))],
  ['hang', async ({ answerNormally }) => void (await answerNormally())],
  ['half-body', (exchange) => inPieces(exchange, { pieces: 2, sent: 1, pauseMs: 0 })],
  ['slow-body', (exchange, pauseMs = 1000) => inPieces(exchange, { pieces: 10, sent: 10, pauseMs })],
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
  // Runs the operation, because a real gateway that answers 504 has only stopped waiting for the service, which carries out the request.
  ['504', ({ answerNormally }) => answerNormally().then(() => emptyAnswer({}, 504))],
]);

export const faultKinds: readonly string[] = [...effectsByKind.keys()];

type Pieces = Readonly<Record<'pieces' | 'sent' | 'pauseMs', number>>;

/** Divides an answer into `pieces` equal pieces, and sends the first `sent` of them with pauses. Then closes the connection if not all were sent. */
async function inPieces({ answerNormally, incoming }: Exchange, { pieces, sent, pauseMs }: Pieces): Promise<Answer> {
  const answer = await answerNormally();
  const { headers, body, content = [Buffer.from(body)] } = answer;
  const totalBytes = Number(headers['content-length'] ?? Buffer.byteLength(body));
  const pieceBytes = Math.ceil(totalBytes / pieces);
  const slowContent = Readable.from(slowly(content, { pieceBytes, maximumPieces: sent, pauseMs }));
  if (sent < pieces) slowContent.once('end', () => incoming.socket.end());
  return { ...answer, headers: { ...headers, 'content-length': String(totalBytes) }, content: slowContent };
}

/** Yields the first `maximumPieces` pieces of a content, each of `pieceBytes` bytes, with a pause after each. */
async function* slowly(
  content: Readable | readonly Buffer[],
  { pieceBytes, maximumPieces, pauseMs }: Readonly<Record<'pieceBytes' | 'maximumPieces' | 'pauseMs', number>>,
): AsyncGenerator<Buffer> {
  let sentBytes = 0;
  // After the last piece, the loop reads on without yielding, so that a stream ends normally and is closed.
  for await (const chunk of content) {
    // A chunk may contain several pieces, and a piece may extend over several chunks, so a fragment is at most the rest of a piece.
    let unsent: Buffer = chunk;
    while (unsent.length > 0 && sentBytes < maximumPieces * pieceBytes) {
      const bytesToPieceEnd = pieceBytes - (sentBytes % pieceBytes);
      const fragment = unsent.subarray(0, bytesToPieceEnd);
      unsent = unsent.subarray(fragment.length);
      sentBytes += fragment.length;
      yield fragment;
      const isPieceComplete = sentBytes % pieceBytes === 0;
      if (isPieceComplete) await delay(pauseMs);
    }
  }
}

/** True if a fault can happen to an operation. For example, a fault that changes the body needs an answer with a body. */
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

/** Makes requests late, and makes them fail as often as the rules say. `random` returns numbers from 0 to below 1. */
export function createFaults({ faults, latency }: FaultRules, random: () => number) {
  // The faults are copied because their `times` counts down.
  const remaining = faults.map((fault) => ({ ...fault }));

  /** Returns the fault for the next request of an operation, if one is left, and counts it as used. */
  function takeFault(operationName: string): Fault | undefined {
    const operation = operations.find(({ name }) => name === operationName);
    // A request for an operation that the sandbox does not have gets no fault, not even one for all operations (`*`).
    if (operation === undefined) return undefined;
    const fault = remaining.find((candidate) => candidate.times > 0 && canHappen(candidate, operation));
    if (fault !== undefined) fault.times -= 1;
    return fault;
  }

  /** Waits for the latency, and resolves with the answer to send. A fault may change the answer, or resolve with undefined to send nothing. */
  async function answer(exchange: Exchange): Promise<Answer | undefined> {
    const fault = takeFault(exchange.operationName);
    const latencyMs = latency(random);
    if (latencyMs > 0) await delay(latencyMs);
    if (fault === undefined) return exchange.answerNormally();
    // The kind is always in the map, because `readFault` refuses any other.
    return effectsByKind.get(fault.kind)?.(exchange, fault.amount);
  }
  return { takeFault, answer };
}

export const noFaults: FaultRules = { faults: [], latency: () => 0, skewSeconds: 0 };

/** Parses faults. If the text begins with `@`, the rest is the name of a file with the faults. */
export function loadFaults(text: string): FaultRules {
  let faults = text;
  try {
    if (text.startsWith('@')) faults = readFileSync(text.slice(1), 'utf8');
  } catch {
    throw new SandboxProblem(`The faults in ${text.slice(1)} cannot be read.`);
  }
  return parseFaults(faults);
}

/** Parses faults such as `list_parts=503*3,latency=uniform(10,200)`, also on several lines. Throws a `SandboxProblem` about the first mistake. */
export function parseFaults(text: string): FaultRules {
  let rules = noFaults;
  // A comma in parentheses, as in `uniform(10,200)`, separates no faults.
  const pairs = text.split(/\n|,(?![^(\n]*\))/).filter((pair) => pair.trim() !== '');
  for (const pair of pairs) {
    const [name = '', value = ''] = splitOnce(pair, '=').map((part) => part.trim());
    const rule = readRule(name, value);
    if (typeof rule === 'string') throw new SandboxProblem(rule);
    // Faults are collected. A second latency or skew replaces the first.
    rules = { ...rules, ...rule, faults: [...rules.faults, ...(rule.faults ?? [])] };
  }
  return rules;
}

/** Parses one rule, such as `list_parts=503*3`. If the rule is invalid, returns the problem as a sentence. */
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
  if (!effectsByKind.has(kind)) return `${kind} is not a fault; the nearest is ${nearest(kind, effectsByKind.keys())}.`;
  if (kind.includes('marker') && operation !== 'list_parts') return `${kind} is a fault of list_parts only.`;
  if (!operations.some((candidate) => canHappen({ operation, kind }, candidate)))
    return `${kind} needs an answer with a body, which ${operation} does not have.`;
  const fault = { operation, kind, amount: amount === undefined ? undefined : Number(amount) };
  return { faults: [{ ...fault, times: Number(times ?? Number.POSITIVE_INFINITY) }] };
}

const readSkew = (value: string): Partial<FaultRules> | string =>
  /^-?\d{1,9}$/.test(value) ? { skewSeconds: Number(value) } : 'skew must be a whole number of seconds.';

const gaussian = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Latencies in milliseconds: even between two bounds, normal by mean and deviation, or log-normal by median and 99th percentile. */
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

/** The word that is most like a misspelt word: the word with the largest share of letter pairs that are in the misspelt word too. */
function nearest(misspelt: string, words: Iterable<string>): string {
  const pairs = (word: string) => Array.from(word, (letter, index) => letter + (word[index + 1] ?? ''));
  const shared = (word: string) => pairs(word).filter((pair) => misspelt.includes(pair)).length / word.length;
  return [...words].reduce((best, word) => (shared(word) > shared(best) ? word : best));
}
