import { createHash } from 'node:crypto';
import type { Change, Default, Operation } from '../tools/define-operation.js';
import type { Endpoint, SendRequest } from '../transport/signed-client.js';
import { isObject } from '../util/objects.js';
import { spellOut } from '../util/quote.js';

type Fields = Readonly<Record<string, unknown>>;

/** What a call would send and do, for a person to decide on. It holds no secret. */
export interface Plan {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** What will be created, changed or billed. */
  readonly consequences: readonly string[];
  readonly defaults: readonly Default[];
  readonly warnings: readonly string[];
}

/** Makes the plan of a mutation. Nothing is sent, looked up or changed for it. */
export function makePlan(
  operation: Operation,
  change: Change,
  input: Fields,
  request: SendRequest,
  target: Endpoint,
): Plan {
  const { region, service, profile, credentials } = target;
  return {
    method: request.method,
    url: target.origin + target.pathPrefix + request.path,
    headers: {
      'content-type': 'application/json',
      [profile.dateHeader]: 'the time of sending',
      authorization: `signed as ${credentials.accessKeyId} for service ${service} in ${region}`,
    },
    body: operation.secrets.reduce<unknown>(
      (body, path) => withValueAt(body, path, (value) => (typeof value === 'string' ? fingerprint(value) : value)),
      request.body ?? {},
    ),
    consequences: change.consequences(input, region),
    defaults: operation.defaults
      .filter(({ path }) => valueAt(input, path) === undefined)
      .map(({ path, value, inRegion }) => ({ path, value: inRegion?.[region] ?? value })),
    warnings: change.warnings(input, region),
  };
}

/** Tells one secret from another without showing any: `sha256:` and 12 hexadecimal digits. */
export const fingerprint = (secret: string): string =>
  `sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 12)}`;

/** The same for the same tool, arguments, endpoint and account, and different for all others. It gives nothing away. */
export function digestOf(operation: Operation, input: Fields, target: Endpoint, ...more: readonly unknown[]): string {
  const { origin, pathPrefix, region, service, credentials } = target;
  const bound = [operation.name, input, origin, pathPrefix, region, service, credentials.accessKeyId, ...more];
  return createHash('sha256').update(JSON.stringify(bound, sorted)).digest('hex');
}

/** A JSON replacer that puts the fields of every object in one order. */
const sorted = (_key: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

/** The value at a dotted path. */
export const valueAt = (fields: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined), fields);

/** A copy in which the value at a path is changed, or gone where the change gives undefined. */
export function withValueAt(fields: unknown, path: string, change: (value: unknown) => unknown): unknown {
  const [step = '', ...rest] = path.split('.');
  if (typeof fields !== 'object' || fields === null) return fields;
  const { [step]: inner, ...others } = { ...fields } as Record<string, unknown>;
  const changed = rest.length > 0 ? withValueAt(inner, rest.join('.'), change) : change(inner);
  return changed === undefined ? others : { ...others, [step]: changed };
}

/**
 * The plan as text: what it does first, the request last. The request's own values are JSON, so they cannot pass for our
 * words, and what is invisible is spelled out everywhere.
 */
export function planText({ method, url, headers, body, consequences, defaults, warnings }: Plan): string {
  const json = JSON.stringify(body, null, 2);
  const cut =
    json.length > maximumBody ? `${json.slice(0, maximumBody)}\n… (cut: ${json.length} characters in all)` : json;
  return [
    ...section('What will happen:', consequences),
    ...section('Warnings:', warnings),
    ...section(
      'Defaults that the cloud applies:',
      defaults.map(({ path, value }) => `${path}: ${value}`),
    ),
    'Request:',
    `${method} ${url}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...cut.split('\n').map(spellOut),
  ].join('\n');
}

/** Characters of the body that are shown. */
const maximumBody = 20_000;

const section = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `- ${spellOut(line)}`), ''];
