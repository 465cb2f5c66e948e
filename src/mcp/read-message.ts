import { CLIENT_INFO_META_KEY, LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/server';
import { isDeeperThan, isObject, parseJson, withoutNulls } from '../util/objects.js';

/** This file reads JSON-RPC messages as clients write them, before the SDK gets them. The SDK ignores, changes or dumps what it does not expect. */

/** A JSON-RPC error. `id` is null if the message has no ID that can be read. */
export interface ErrorAnswer {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type ReadMessage =
  | { readonly kind: 'read'; readonly message: object }
  /** `isAnswered` is false for notifications and responses, because JSON-RPC has no answer to them. */
  | { readonly kind: 'invalid'; readonly answer: ErrorAnswer; readonly isAnswered: boolean };

/** JSON-RPC's codes for text that is not JSON, for a message that is no request, and for wrong parameters. */
const parseError = -32700;
export const invalidRequest = -32600;
const invalidParams = -32602;

/** The most levels of lists and objects in a message. The arguments of a call have a lower limit of their own. */
const maximumDepth = 1_000;

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

/** Parses the JSON of a message, which may begin with a byte order mark. Returns undefined if it is not JSON. */
export const parseMessageText = (text: string): unknown => parseJson(text.replace(/^\uFEFF/, ''));

/**
 * Reads one message from its JSON value. Fields that are null count as absent, arguments may be JSON text, and an `initialize` request gets what
 * it lacks.
 */
export function readMessage(value: unknown): ReadMessage {
  if (!isObject(value)) return invalid({ method: '', id: null }, invalidRequest, 'A message must be a JSON object.');
  if (isDeeperThan(maximumDepth, value))
    return invalid(value, invalidRequest, `A message must not be nested deeper than ${maximumDepth} levels.`);
  const { params: givenParams, result, ...message } = value;
  const shownResult = result === undefined ? {} : { result: withoutNulls(result) };
  const params = givenParams ?? undefined;
  if (params === undefined) return { kind: 'read', message: { ...message, ...shownResult } };
  if (!isObject(params)) return invalid(value, invalidRequest, 'params must be an object.');

  const args = readArguments(params.arguments);
  if (args !== undefined && !isObject(args)) return invalid(value, invalidParams, 'arguments must be an object.');
  if (holdsProto(args)) return invalid(value, invalidParams, '__proto__: is not an argument.');
  const present = withoutNulls({ ...params, arguments: args ?? null });
  return {
    kind: 'read',
    message: { ...message, ...shownResult, params: withDefaults(value.method, isObject(present) ? present : {}) },
  };
}

function invalid({ id, method }: Readonly<Record<string, unknown>>, code: number, message: string): ReadMessage {
  const knownId = typeof id === 'string' || typeof id === 'number' ? id : null;
  const isAnswered = method !== undefined && id !== undefined;
  return { kind: 'invalid', answer: errorAnswer(knownId, code, message), isAnswered };
}

/** Some clients write all arguments as one JSON text. */
function readArguments(args: unknown): unknown {
  if (args === null) return undefined;
  return typeof args === 'string' ? (parseJson(args) ?? args) : args;
}

/** Adds what the SDK requires and clients leave out: the version of the client, and all that an `initialize` request lacks. */
function withDefaults(method: unknown, params: Readonly<Record<string, unknown>>): object {
  if (method === 'initialize')
    return {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities: {},
      ...params,
      clientInfo: { ...unknownClient, ...Object(params.clientInfo) },
    };
  const { _meta: meta } = params;
  if (!isObject(meta) || !isObject(meta[CLIENT_INFO_META_KEY])) return params;
  return { ...params, _meta: { ...meta, [CLIENT_INFO_META_KEY]: { ...unknownClient, ...meta[CLIENT_INFO_META_KEY] } } };
}

const unknownClient = { name: 'unknown', version: '' };

/** True if an object in the value has a field `__proto__`, which zod would silently drop. Uses no recursion, because a message may be nested deeply. */
function holdsProto(value: unknown): boolean {
  const remaining = [value];
  while (remaining.length > 0) {
    const inner = remaining.pop();
    if (typeof inner !== 'object' || inner === null) continue;
    if (Object.hasOwn(inner, '__proto__')) return true;
    for (const field of Object.values(inner)) remaining.push(field);
  }
  return false;
}
