import type { Cloud } from './cloud.js';
import { type Answer, type ApiRequest, jsonAnswer, ServiceError } from './http.js';
import { inventedBySource, markInvented } from './operation.js';
import * as registry from './operations/index.js';
import { readInput, refuse } from './rules.js';
import { readShort } from './storage/bodies.js';
import { checkStorageRequest, notOffered } from './storage/requests.js';
import { readDocumentInput, xmlDocument } from './storage/xml.js';

/** Converts `listParts` to `list_parts`, the name of the client's tool, which faults and the log of requests use too. */
const toolName = (name: string) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

export const operations = Object.entries(registry).map(([name, operation]) => ({ name: toolName(name), ...operation }));

export type NamedOperation = (typeof operations)[number];

/** The operation of a request, the request's path parameters, and the query names that the operation requires. */
export type Route = NonNullable<ReturnType<typeof findOperation>>;

/** Each operation with its `request`, such as `GET /{bucket}/{key}?uploadId`, split into method, pattern of the path, and required query. */
const templates = operations.map((operation) => {
  const [, method = '', path = '', names = ''] = /^(\w+) ([^?]+)\??(.*)$/.exec(operation.request) ?? [];
  const groups = path.replace(/\{(\w+)\}/g, (_, name) => `(?<${name}>${name === 'key' ? '.+' : '[^/]+'})`);
  return { operation, method, pattern: new RegExp(`^${groups}$`), requiredQuery: names.split('&').filter(Boolean) };
});

/** Finds the operation of a request. If several match, returns the one that requires the most query names. */
export function findOperation(request: ApiRequest) {
  const routes = templates.flatMap(({ operation, method, pattern, requiredQuery }) => {
    const { service = 'storage' } = operation;
    if (service !== request.service || method !== request.method) return [];
    if (!requiredQuery.every((name) => request.query.has(name))) return [];
    const match = pattern.exec(request.path);
    const parameters = match === null ? undefined : decodeParameters(match.groups ?? {});
    return parameters === undefined ? [] : [{ operation, parameters, requiredQuery }];
  });
  return routes.sort((a, b) => b.requiredQuery.length - a.requiredQuery.length)[0];
}

/** Decodes path parameters. Undefined if any is badly encoded, or if any but `key` is empty, `.` or `..`, or contains a slash. */
function decodeParameters(groups: Readonly<Record<string, string>>): Record<string, string> | undefined {
  try {
    const parameters = Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)] as const);
    const isPlain = parameters.every(([name, text]) => name === 'key' || !/^\.{0,2}$|\//.test(text));
    return isPlain ? Object.fromEntries(parameters) : undefined;
  } catch {
    return undefined;
  }
}

/** Answers a request whose signature is valid. Errors become answers too. Throws only if the client closed the connection. */
export async function answer(route: Route | undefined, request: ApiRequest, cloud: Cloud): Promise<Answer> {
  try {
    return await runOperation(route, request, cloud);
  } catch (error) {
    if (error instanceof ServiceError) return refusal(request, error);
    if (request.stream.errored) throw error;
    const code = request.service === 'storage' ? 'InternalError' : 'Server.InternalError';
    return refusal(request, new ServiceError(500, code, 'The sandbox could not save its state.'));
  }
}

/**
 * Runs the operation of a request, and marks in the answer what the sandbox had to invent. Throws a `ServiceError` for a request that no
 * operation answers, or that breaks a rule.
 */
async function runOperation(route: Route | undefined, request: ApiRequest, cloud: Cloud): Promise<Answer> {
  const isStorage = request.service === 'storage';
  if (route === undefined)
    throw isStorage ? notOffered('this operation') : refuse(404, 'URLNotFound', 'The sandbox knows no such operation.');

  const { operation, parameters, requiredQuery } = route;
  const { options: optionalQuery = [] } = operation;
  // AWS SDKs add `x-id` with the name of the operation to some requests.
  const allowedNames = [...requiredQuery, ...optionalQuery, 'x-id'];
  const refusedName = [...request.query.keys()].find((name) => !allowedNames.includes(name));
  if (refusedName !== undefined) throw notOffered(`"${refusedName}" in the query here`);
  if (isStorage) checkStorageRequest(request, operation.headers, parameters.key);

  // Bodies of the other APIs were read with the check of the signature, which covers them. An operation that `streams` reads the body itself.
  const isBodyReadHere = isStorage && !operation.streams;
  const body = isBodyReadHere ? await readShort(request) : request.body;
  const answer = await operation.handle({ ...request, body, parameters, input: inputOf(operation, body) }, cloud);
  await cloud.flushChanges();
  // The marks in a header keep clients from relying on behaviour that the real cloud may not have.
  return markInvented(answer, inventedParts(operation));
}

/**
 * The values of the header `x-sandbox-invented`, which names what docs/API.md does not describe: the whole operation, unless its `source` is
 * docs/API.md (`reference`), and single parts of the answer (`invents`).
 */
const inventedParts = ({ source = 's3', invents: partsOfAnswer = [] }: NamedOperation) => [
  ...inventedBySource[source],
  ...partsOfAnswer,
];

/** The parsed body, if the operation has rules for it. */
function inputOf({ rules, document }: NamedOperation, body: Buffer): unknown {
  if (rules === undefined) return undefined;
  return document === undefined ? readInput(rules, body) : readDocumentInput(rules, document, body);
}

/** Formats an error as the called API does. An answer to HEAD has no body, so the error is also in the header `x-sandbox-error`. */
export function refusal({ service, id, method }: ApiRequest, { status, code, message, details }: ServiceError): Answer {
  const elements = { Code: code, Message: message, ...details, RequestId: id };
  const answer =
    service === 'storage' ? xmlDocument(status, 'Error', elements) : jsonAnswer(status, { code, message, ...details });
  const reason = method === 'HEAD' && { 'x-sandbox-error': `${code}: ${message}`.replace(/[^ -~]/g, '?') };
  return markInvented({ ...answer, headers: { ...answer.headers, ...reason } }, ['error']);
}
