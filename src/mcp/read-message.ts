import { CLIENT_INFO_META_KEY, LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/server';
import { countValues } from '../util/count-values.js';
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
/** Maximum number of JSON values in a message over HTTP, or in arguments that are JSON text. No call has as many. */
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
  /** The value is null if there are no arguments. */
  | { readonly kind: 'read'; readonly value: Readonly<Record<string, unknown>> | null }
  | { readonly kind: 'invalid'; readonly problem: string };

/** Reads the arguments of a call, which some clients write as one JSON text. The limits of a message do not see into a text, so it has its own. */
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

/** Adds what the SDK requires and clients leave out: the version of the client, and all that an `initialize` request lacks. */
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

/** True if an object in the value has a field `__proto__`, which zod would silently drop, so that the call would be made without the field. */
const holdsProto = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(holdsProto));
