import type { Cloud } from './cloud.js';
import { type Answer, type ApiRequest, jsonAnswer, ServiceError } from './http.js';
import { invented, sourceWords } from './operation.js';
import * as registry from './operations/index.js';
import { readInput, refuse } from './rules.js';
import { readShort } from './storage/bodies.js';
import { checkStorageRequest, notOffered } from './storage/requests.js';
import { readDocumentInput, xmlDocument } from './storage/xml.js';

/** Converts `listParts` to `list_parts`, the name in tools, faults and the log of requests. */
const toolName = (name: string) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

export const operations = Object.entries(registry).map(([name, operation]) => ({ name: toolName(name), ...operation }));

export type NamedOperation = (typeof operations)[number];

/** An operation, its path parameters, and the query names that it requires. */
export type Route = NonNullable<ReturnType<typeof findOperation>>;

/** Each operation with its `request` parsed. */
const templates = operations.map((operation) => {
  const [, method = '', path = '', query = ''] = /^(\w+) ([^?]+)\??(.*)$/.exec(operation.request) ?? [];
  const groups = path.replace(/\{(\w+)\}/g, (_, name) => `(?<${name}>${name === 'key' ? '.+' : '[^/]+'})`);
  return { operation, method, pattern: new RegExp(`^${groups}$`), query: query.split('&').filter(Boolean) };
});

/** Finds the operation of a request. If several match, the one that requires the most names in the query wins. */
export function findOperation(request: ApiRequest) {
  const routes = templates.flatMap(({ operation, method, pattern, query }) => {
    const { service = 'storage' } = operation;
    if (service !== request.service || method !== request.method) return [];
    if (!query.every((name) => request.query.has(name))) return [];
    const match = pattern.exec(request.path);
    const parameters = match === null ? undefined : decodeParameters(match.groups ?? {});
    return parameters === undefined ? [] : [{ operation, parameters, query }];
  });
  return routes.sort((a, b) => b.query.length - a.query.length)[0];
}

/** Decodes path parameters. Undefined if a parameter is badly encoded, empty or a dot segment, or contains a slash (allowed only in `key`). */
function decodeParameters(groups: Readonly<Record<string, string>>): Record<string, string> | undefined {
  try {
    const parameters = Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)] as const);
    const isPlain = parameters.every(([name, text]) => name === 'key' || !/^\.{0,2}$|\//.test(text));
    return isPlain ? Object.fromEntries(parameters) : undefined;
  } catch {
    return undefined;
  }
}

/** Answers a request with a valid signature, or refuses the request. Throws only if the request was cut off. */
export async function answer(route: Route | undefined, request: ApiRequest, cloud: Cloud): Promise<Answer> {
  try {
    return await carryOut(route, request, cloud);
  } catch (error) {
    if (error instanceof ServiceError) return refusal(request, error);
    if (request.stream.errored) throw error;
    const code = request.service === 'storage' ? 'InternalError' : 'Server.InternalError';
    return refusal(request, new ServiceError(500, code, 'The sandbox could not save its state.'));
  }
}

async function carryOut(route: Route | undefined, request: ApiRequest, cloud: Cloud): Promise<Answer> {
  const isStorage = request.service === 'storage';
  if (route === undefined)
    throw isStorage ? notOffered('this operation') : refuse(404, 'URLNotFound', 'The sandbox knows no such operation.');
  const { operation, parameters, query } = route;
  const { source = 's3', invents = [], options = [] } = operation;
  const allowedNames = [...query, ...options, 'x-id'];
  const unknown = [...request.query.keys()].find((name) => !allowedNames.includes(name));
  if (unknown !== undefined) throw notOffered(`"${unknown}" in the query here`);
  if (isStorage) checkStorageRequest(request, operation.headers, parameters.key);
  const body = isStorage && !operation.streams ? await readShort(request) : request.body;
  const { rules, document } = operation;
  const input = rules && (document ? readDocumentInput(rules, document, body) : readInput(rules, body));
  const answer = await operation.handle({ ...request, body, parameters, input }, cloud);
  await cloud.flushed();
  return invented(answer, ...sourceWords[source], ...invents);
}

/** Formats an error as the called service does. An answer to HEAD has no body, so the error is in a header. */
export function refusal({ service, id, method }: ApiRequest, { status, code, message, details }: ServiceError): Answer {
  const elements = { Code: code, Message: message, ...details, RequestId: id };
  const answer =
    service === 'storage' ? xmlDocument(status, 'Error', elements) : jsonAnswer(status, { code, message, ...details });
  const reason = method === 'HEAD' && { 'x-sandbox-error': `${code}: ${message}`.replace(/[^ -~]/g, '?') };
  return invented({ ...answer, headers: { ...answer.headers, ...reason } }, 'error');
}
