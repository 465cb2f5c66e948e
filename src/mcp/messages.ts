import { Transform, Writable } from 'node:stream';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  isJSONRPCResponse,
  LATEST_PROTOCOL_VERSION,
  type SpecTypeName,
  specTypeSchemas,
} from '@modelcontextprotocol/server';
import { countValues, isDeeperThan, isObject, parseJson, textAt, valueAt, withoutNulls } from '../util/objects.js';
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
  | {
      readonly kind: 'invalid';
      readonly answer: ErrorAnswer;
      /**
       * JSON-RPC has no answer to notifications. The error takes the place of a response for this server, so that the question ends as one that
       * the client could not ask.
       */
      readonly to: 'client' | 'server' | 'nobody';
    };

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
  answer: errorAnswer(null, -32700, 'The message is not JSON.'),
  to: 'client',
};

/** Reads one message. Nulls of fields count as absent, and fields that messages do not have are ignored. */
export function readMessage(value: unknown): ReadMessage {
  if (!isObject(value)) return unreadable({ method: '', id: null }, invalidRequest, 'A message must be a JSON object.');
  if (isDeeperThan(maximumDepth, value))
    return unreadable(value, invalidRequest, `A message must not be nested deeper than ${maximumDepth} levels.`);
  if (!isResponse(value)) return readRequest(value);
  const { jsonrpc, id, result = null, error = null } = value;
  const message = withoutNulls({ jsonrpc: jsonrpc ?? '2.0', id, result, error });
  return isJSONRPCResponse(message)
    ? { kind: 'read', message }
    : unreadable(value, invalidRequest, 'The response cannot be read.');
}

type Fields = Readonly<Record<string, unknown>>;

/** Some clients write all fields of all kinds of messages, with nulls. */
const isResponse = ({ method, result, error }: Fields): boolean =>
  method === undefined || (method === null && (result !== undefined || error !== undefined));

const isNotification = ({ id = null, method }: Fields): boolean =>
  id === null && typeof method === 'string' && method.startsWith('notifications/');

function readRequest(request: Fields): ReadMessage {
  const { jsonrpc, id, method, params } = request;
  const isRequest = id !== undefined && !isNotification(request);
  const given = params ?? (method === 'initialize' ? {} : undefined);
  if (given !== undefined && !isObject(given)) return unreadable(request, invalidRequest, 'params must be an object.');
  const args = readArguments(given?.arguments);
  if (typeof args === 'string') return unreadable(request, invalidParams, args);

  const present = withoutNulls({ ...given, arguments: args });
  const message = {
    jsonrpc: jsonrpc ?? '2.0',
    ...(isRequest && { id }),
    method,
    ...(given !== undefined && { params: withDeclaration(method, present) }),
  };
  const types: readonly SpecTypeName[] = isRequest
    ? ['JSONRPCRequest', requestTypes.get(method) ?? 'Request']
    : ['JSONRPCNotification'];
  const [path] = types.flatMap((type) => malformedPaths(type, message));
  if (path === undefined) return { kind: 'read', message };
  const code = path[0] === 'params' ? invalidParams : invalidRequest;
  return unreadable(request, code, `${path.join('.')} is missing or not valid.`);
}

/** The SDK would answer wrong parameters with the dump of a validator. */
const requestTypes: ReadonlyMap<unknown, SpecTypeName> = new Map([
  ['initialize', 'InitializeRequest'],
  ['tools/list', 'ListToolsRequest'],
  ['tools/call', 'CallToolRequest'],
  ['resources/list', 'ListResourcesRequest'],
  ['resources/templates/list', 'ListResourceTemplatesRequest'],
  ['resources/read', 'ReadResourceRequest'],
]);

function unreadable(message: Fields, code: number, problem: string): ReadMessage {
  const { id } = message;
  const isUsable = typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));
  const ofRequest = id === undefined || isNotification(message) ? 'nobody' : 'client';
  const ofResponse = isUsable ? 'server' : 'nobody';
  const answer = errorAnswer(isUsable ? id : null, code, problem);
  return { kind: 'invalid', answer, to: isResponse(message) ? ofResponse : ofRequest };
}

/** Some clients write arguments as JSON text, which has its own limits. Returns a text if they cannot be read. */
function readArguments(given: unknown): Fields | null | string {
  if (given === undefined || given === null) return null;
  if (typeof given === 'string' && countValues(given, maximumValues) > maximumValues)
    return `arguments must not have more than ${maximumValues} values.`;
  const args = typeof given === 'string' ? parseJson(given) : given;
  if (!isObject(args)) return 'arguments must be an object.';
  if (isDeeperThan(maximumDepth, args)) return `arguments must not be nested deeper than ${maximumDepth} levels.`;
  return holdsProto(args) ? '__proto__: is not an argument.' : args;
}

/** Completes what the client declares of itself: before protocol 2026-07-28 in `initialize`, since then in each request. */
function withDeclaration(method: unknown, params: Fields): Fields {
  if (method === 'initialize')
    return {
      protocolVersion: textAt(params, 'protocolVersion') ?? LATEST_PROTOCOL_VERSION,
      capabilities: readCapabilities(params.capabilities),
      clientInfo: readInformation(params.clientInfo),
    };
  if (!isObject(params._meta)) return params;
  const meta = { ...params._meta };
  if (CLIENT_CAPABILITIES_META_KEY in meta)
    meta[CLIENT_CAPABILITIES_META_KEY] = readCapabilities(meta[CLIENT_CAPABILITIES_META_KEY]);
  if (CLIENT_INFO_META_KEY in meta) meta[CLIENT_INFO_META_KEY] = readInformation(meta[CLIENT_INFO_META_KEY]);
  return { ...params, _meta: meta };
}

/** Takes only what this server uses, because the SDK refuses a client for any malformed field. */
function readCapabilities(given: unknown): Fields {
  const [elicitation, extensions] = [valueAt(given, 'elicitation'), valueAt(given, 'extensions')];
  const isSet = ([, value]: readonly [string, unknown]) => isObject(value);
  return {
    ...(isObject(elicitation) && {
      elicitation: Object.fromEntries(
        Object.entries(elicitation)
          .filter(isSet)
          .map(([mode]) => [mode, {}]),
      ),
    }),
    ...(isObject(extensions) && { extensions: Object.fromEntries(Object.entries(extensions).filter(isSet)) }),
  };
}

const readInformation = (given: unknown): Fields => ({
  name: textAt(given, 'name') ?? 'unknown',
  version: textAt(given, 'version') ?? '',
});

/** Returns the paths of what does not fit a type of the protocol. */
const malformedPaths = (type: SpecTypeName, value: unknown): readonly (readonly string[])[] =>
  (specTypeSchemas[type]['~standard'].validate(value).issues ?? []).map(({ path = [] }) =>
    path.map((step) => String(typeof step === 'object' ? step.key : step)),
  );

/** zod would silently drop a field `__proto__`. */
const holdsProto = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(holdsProto));

/** The longest line (bytes). */
const longestLine = 10 * 1000 * 1000;
/** The beginning and the end that are kept of a longer line (bytes each). */
const edgeLength = 1000;

const newline = 10;

/** Gives one line for each readable message. A longer line than `longestLine` takes no more memory. */
export function createMessageLines({
  answer,
  onTooLong,
}: {
  readonly answer: (answer: ErrorAnswer) => void;
  readonly onTooLong: () => void;
}): Transform {
  let parts: Buffer[] = [];
  let length = 0;

  const take = (part: Buffer): void => {
    length += part.length;
    parts.push(part);
    if (length <= longestLine) return;
    const line = Buffer.concat(parts);
    parts = [line.subarray(0, edgeLength), line.subarray(-edgeLength)];
  };

  const endLine = (): readonly ReadMessage[] => {
    const [line, isTooLong] = [parts, length > longestLine];
    parts = [];
    length = 0;
    if (!isTooLong) return readLine(Buffer.concat(line).toString('utf8'));
    onTooLong();
    return [readEdges(line.map((edge) => edge.toString('utf8')))];
  };

  const passOn = (lines: Transform, read: ReadMessage): void => {
    if (read.kind === 'read') lines.push(`${JSON.stringify(read.message)}\n`);
    else if (read.to === 'server') lines.push(`${JSON.stringify(read.answer)}\n`);
    else if (read.to === 'client') answer(read.answer);
  };

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, at));
        for (const read of endLine()) passOn(this, read);
        from = at + 1;
      }
      if (from < chunk.length) take(chunk.subarray(from));
      done();
    },
  });
}

function readLine(text: string): readonly ReadMessage[] {
  if (text.trim() === '') return [];
  const value = parseJson(text);
  if (value === undefined) return [notJson];
  // Protocol 2025-03-26 allows several messages as a list.
  const messages: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
  return messages.map(readMessage);
}

/** Reads the beginning and the end of a line that is too long. */
function readEdges([start = '', end = '']: readonly string[]): ReadMessage {
  const [, first = ''] = firstFields.exec(start) ?? [];
  const [, last = ''] = lastFields.exec(end) ?? [];
  const fields = [first, last].map((text) => parseJson(`{${text.replace(/^,|,$/g, '')}}`));
  const message: Fields = Object.assign({}, ...fields);
  return unreadable(message, invalidRequest, `A message must not be longer than ${longestLine} bytes.`);
}

// Only texts and numbers, so no bracket is passed, and the fields are of the message itself.
const field = String.raw`\s*"\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)\s*`;
const firstFields = new RegExp(String.raw`^\uFEFF?\s*\{((?:${field},)*)`);
const lastFields = new RegExp(String.raw`((?:,${field})*)\}\s*$`);

/** The stream for messages on stdout. Escapes invisible characters, because people may see the raw JSON. */
export const createEscapedOutput = (stdout: Writable): Writable =>
  new Writable({
    decodeStrings: false,
    write: (json, _encoding, done) => void stdout.write(escapeJson(String(json)), done),
  });
