import { Transform, Writable } from 'node:stream';
import { CLIENT_INFO_META_KEY, LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/server';
import { countValues, isDeeperThan, isObject, parseJson, withoutNulls } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';

/** This file reads JSON-RPC messages before the SDK, which ignores or changes what it does not expect. */

/** A JSON-RPC error. `id` is null if it cannot be read. */
export interface ErrorAnswer {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type ReadMessage =
  | { readonly kind: 'read'; readonly message: object }
  /** JSON-RPC has no answer to notifications and responses. */
  | { readonly kind: 'invalid'; readonly answer: ErrorAnswer; readonly isAnswered: boolean };

const parseError = -32700;
export const invalidRequest = -32600;
const invalidParams = -32602;

/** Levels of lists and objects. */
const maximumDepth = 1_000;
/** Maximum number of JSON values in a message over HTTP, or in JSON text. */
export const maximumValues = 5_000;

export const errorAnswer = (id: ErrorAnswer['id'], code: number, message: string): ErrorAnswer => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

export const notJson: ReadMessage = {
  kind: 'invalid',
  answer: errorAnswer(null, parseError, 'The message is not JSON.'),
  isAnswered: true,
};

/** Parses the JSON of a message, which may begin with a byte order mark. */
export const parseMessageText = (text: string): unknown => parseJson(text.replace(/^\uFEFF/, ''));

/** Reads one message. Null fields count as absent. */
export function readMessage(value: unknown): ReadMessage {
  if (!isObject(value)) return invalid({ method: '', id: null }, invalidRequest, 'A message must be a JSON object.');
  if (isDeeperThan(maximumDepth, value))
    return invalid(value, invalidRequest, `A message must not be nested deeper than ${maximumDepth} levels.`);
  const { params = null, result, ...others } = value;
  const message = result === undefined ? others : { ...others, result: withoutNulls(result) };
  if (params === null) return { kind: 'read', message };
  if (!isObject(params)) return invalid(value, invalidRequest, 'params must be an object.');

  const args = readArguments(params.arguments);
  if (args.kind === 'invalid') return invalid(value, invalidParams, args.problem);
  const present = withoutNulls({ ...params, arguments: args.value });
  return {
    kind: 'read',
    message: { ...message, params: withDefaults(value.method, isObject(present) ? present : {}) },
  };
}

function invalid({ id, method }: Readonly<Record<string, unknown>>, code: number, message: string): ReadMessage {
  const knownId = typeof id === 'string' || typeof id === 'number' ? id : null;
  const isAnswered = method !== undefined && id !== undefined;
  return { kind: 'invalid', answer: errorAnswer(knownId, code, message), isAnswered };
}

type Arguments =
  | { readonly kind: 'read'; readonly value: Readonly<Record<string, unknown>> | null }
  | { readonly kind: 'invalid'; readonly problem: string };

/** Some clients write arguments as JSON text, which has its own limits. */
function readArguments(given: unknown): Arguments {
  if (given === undefined || given === null) return { kind: 'read', value: null };
  if (typeof given === 'string' && countValues(given, maximumValues) > maximumValues)
    return { kind: 'invalid', problem: `arguments must not have more than ${maximumValues} values.` };
  const args = typeof given === 'string' ? parseJson(given) : given;
  if (!isObject(args)) return { kind: 'invalid', problem: 'arguments must be an object.' };
  if (isDeeperThan(maximumDepth, args))
    return { kind: 'invalid', problem: `arguments must not be nested deeper than ${maximumDepth} levels.` };
  if (holdsProto(args)) return { kind: 'invalid', problem: '__proto__: is not an argument.' };
  return { kind: 'read', value: args };
}

/** Adds what the SDK requires and clients leave out. */
function withDefaults(method: unknown, params: Readonly<Record<string, unknown>>): object {
  if (method === 'initialize')
    return {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities: {},
      ...params,
      clientInfo: { ...unknownClient, ...(isObject(params.clientInfo) && params.clientInfo) },
    };
  const { _meta: meta } = params;
  if (!isObject(meta) || !isObject(meta[CLIENT_INFO_META_KEY])) return params;
  return { ...params, _meta: { ...meta, [CLIENT_INFO_META_KEY]: { ...unknownClient, ...meta[CLIENT_INFO_META_KEY] } } };
}

const unknownClient = { name: 'unknown', version: '' };

/** zod would silently drop a field `__proto__`. */
const holdsProto = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(holdsProto));

/** The longest line (bytes). */
const longestLine = 10 * 1000 * 1000;
/** The beginning of a longer line (bytes). */
const headLength = 1000;

const newline = 10;

interface LineProblems {
  readonly answer: (answer: ErrorAnswer) => void;
  readonly onTooLong: () => void;
}

/** Creates a stream that gives one line for each readable message. A line longer than `longestLine` takes no more memory than that. */
export function createMessageLines({ answer, onTooLong }: LineProblems): Transform {
  let parts: Buffer[] = [];
  let length = 0;

  const take = (part: Buffer): void => {
    length += part.length;
    if (length <= longestLine) parts.push(part);
    else parts = [Buffer.concat([...parts, part.subarray(0, headLength)]).subarray(0, headLength)];
  };

  const endLine = (): readonly ReadMessage[] => {
    const text = Buffer.concat(parts).toString('utf8');
    const isTooLong = length > longestLine;
    parts = [];
    length = 0;
    if (!isTooLong) return readLine(text);
    onTooLong();
    return tooLong(text);
  };

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, at));
        for (const read of endLine()) {
          if (read.kind === 'read') this.push(`${JSON.stringify(read.message)}\n`);
          else if (read.isAnswered) answer(read.answer);
        }
        from = at + 1;
      }
      if (from < chunk.length) take(chunk.subarray(from));
      done();
    },
  });
}

function readLine(text: string): readonly ReadMessage[] {
  if (text.trim() === '') return [];
  const value = parseMessageText(text);
  if (value === undefined) return [notJson];
  // Protocol 2025-03-26 allows several messages as a list.
  const messages: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
  return messages.map(readMessage);
}

/** Without an ID, the line may be a notification or a response. */
function tooLong(head: string): readonly ReadMessage[] {
  const id = idIn(head);
  if (id === undefined) return [];
  const answer = errorAnswer(id, invalidRequest, `A message must not be longer than ${longestLine} bytes.`);
  return [{ kind: 'invalid', answer, isAnswered: true }];
}

function idIn(head: string): string | number | undefined {
  const [, id] = /"id"\s*:\s*("[^"\\]*"|\d{1,15})/.exec(head) ?? [];
  if (id === undefined) return undefined;
  return id.startsWith('"') ? id.slice(1, -1) : Number(id);
}

/** The stream for messages on stdout. Escapes invisible characters, because people may see the raw JSON. */
export const createEscapedOutput = (stdout: Writable): Writable =>
  new Writable({
    decodeStrings: false,
    write: (json, _encoding, done) => void stdout.write(escapeJson(String(json)), done),
  });
