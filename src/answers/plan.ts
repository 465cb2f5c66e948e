import { createHash } from 'node:crypto';
import type { Change, Default, Operation } from '../tools/define-operation.js';
import { regionWarnings } from '../tools/schema/zones.js';
import { type Endpoint, type UnsignedApiRequest, wireForm } from '../transport/request.js';
import { sentences } from '../util/human.js';
import { leavesOf, valueAt, withValueAt } from '../util/objects.js';
import { quote, quoteName, spellOut } from '../util/quote.js';

type Fields = Readonly<Record<string, unknown>>;

/** What a call would send and do, for a person to decide on. It holds no secret. */
export interface Plan {
  /** The whole decision in one sentence. */
  readonly summary: string;
  readonly method: string;
  /** With the query, exactly as it goes on the wire. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent for a request without one. */
  readonly body?: unknown;
  /** Region, zone and account, each with where it comes from. */
  readonly where: readonly string[];
  /** What will be created, changed or billed. */
  readonly consequences: readonly string[];
  readonly defaults: readonly Default[];
  readonly warnings: readonly string[];
  readonly notChecked: readonly string[];
}

/** Where the region of a call comes from. */
export type RegionSource = 'given' | 'configured' | 'default';

/** A mutation as it would be sent. */
export interface PlannedCall {
  readonly operation: Operation;
  readonly change: Change;
  /** Arguments, without those that steer the call. */
  readonly input: Fields;
  readonly request: UnsignedApiRequest;
  readonly endpoint: Endpoint;
  readonly regionSource: RegionSource;
  /** Names of the secrets that were given by name, by the dotted path of the secret. */
  readonly secretNames?: Readonly<Record<string, string>>;
}

/** Makes the plan of a mutation. Nothing is sent, looked up or changed for it. */
export function makePlan(call: PlannedCall): Plan {
  const { operation, change, input, request, endpoint } = call;
  const { origin, region, service, profile, credentials } = endpoint;
  const { path, query } = wireForm(endpoint, request);
  const { defaults, warnings } = hintsOf(operation, change, input, region);
  return {
    summary: spellOut(`${change.headline(input, region)}.`),
    method: request.method,
    url: origin + path + query,
    headers: {
      ...(request.body !== undefined && { 'content-type': 'application/json' }),
      [profile.dateHeader]: 'the time of sending',
      authorization: `signed as ${credentials.accessKeyId} for service ${service} in ${region}`,
    },
    ...(request.body !== undefined && { body: withoutSecrets(call, request.body) }),
    where: sentences(regionOf(call), zoneOf(defaults, input), `account ${credentials.accessKeyId}`),
    consequences: sentences(
      operation.effect === 'delete' && 'This is destructive.',
      ...change.consequences(input, region),
    ),
    defaults,
    warnings,
    notChecked: change.notChecked,
  };
}

const regionSources = { given: 'given', configured: 'configured', default: "this server's default" } as const;

/** The region that the arguments name, and the one whose endpoint gets the request: the same only where an argument chooses both. */
function regionOf({ operation, input, endpoint: { region }, regionSource }: PlannedCall): string {
  const given = textOf(input.region ?? input.regions);
  const source = regionSources[regionSource];
  if (given === region) return `region ${region} (given)`;
  if (given !== undefined) return `region ${given} (given), request sent to ${region} (${source})`;
  return `${'region' in operation.input().shape ? 'region' : 'request sent to'} ${region} (${source})`;
}

function zoneOf(defaults: readonly Default[], input: Fields): string | false {
  const given = textOf(input.availabilityZone ?? input.availabilityZones);
  const preset = defaults.find(({ path }) => path === 'availabilityZone');
  if (given !== undefined) return `zone ${given} (given)`;
  return preset !== undefined && `zone ${preset.value} (the cloud's default)`;
}

/** A text, or the first one of a list. */
const textOf = (value: unknown) => [value].flat().find((one) => typeof one === 'string');

/**
 * What the cloud does with what is absent, and what is allowed but probably not meant.
 * @param given all the arguments, where some are wrong and so not in `input`
 */
export function hintsOf(operation: Operation, change: Change, input: Fields, region: string, given: Fields = input) {
  const { regions, unknownDefaults = [] } = operation;
  const isAbsent = (path: string) => valueAt(given, path) === undefined;
  const isOmitted = (path: string) => {
    const parent = path.split('.').slice(0, -1).join('.');
    return isAbsent(path) && (parent === '' || !isAbsent(parent));
  };
  const isKnown = ({ inRegion }: Default) => inRegion === undefined || inRegion[region] !== undefined;
  const defaults = operation.defaults.filter(({ path }) => isAbsent(path));
  const unknown = [
    ...unknownDefaults.filter(isOmitted),
    ...defaults.filter((one) => !isKnown(one)).map(({ path }) => path),
  ];
  return {
    defaults: defaults
      .filter(isKnown)
      .map(({ path, value, inRegion }) => ({ path, value: inRegion?.[region] ?? value })),
    warnings: sentences(
      ...regionWarnings(regions, region),
      ...new Set(change.warnings(input, region)),
      unknown.length > 0 && `Not given: ${unknown.join(', ')}. What the cloud uses instead is not documented.`,
    ),
  };
}

/** A copy in which secrets are their names, or else fingerprints. */
const withoutSecrets = ({ operation, secretNames = {} }: PlannedCall, fields: unknown): unknown =>
  (operation.secrets ?? []).reduce<unknown>(
    (copy, path) =>
      withValueAt(copy, path, (value) => {
        const name = secretNames[path];
        if (name !== undefined) return `the secret ${quoteName(name)}`;
        return typeof value === 'string' ? fingerprint(value) : value;
      }),
    fields,
  );

/** Tells one secret from another without showing any: `sha256:` and 12 hexadecimal digits. */
export const fingerprint = (secret: string): string =>
  `sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 12)}`;

/**
 * The same for the same request of the same account, whatever arguments led to it: the key by which a repetition is found. It
 * gives nothing away.
 */
export function idempotencyKey({ request, endpoint }: PlannedCall): string {
  const { path, query, body } = wireForm(endpoint, request);
  return digest([request.method, endpoint.origin + path + query, body ?? '', endpoint.credentials.accessKeyId]);
}

/** What consent is bound to: tool, arguments, endpoint, account, and whether a repetition is meant. */
export function consentDigest({ operation, input, endpoint }: PlannedCall, allowRepeat: boolean): string {
  const { origin, pathPrefix, region, service, credentials } = endpoint;
  return digest([operation.name, input, origin, pathPrefix, region, service, credentials.accessKeyId, allowRepeat]);
}

const digest = (bound: readonly unknown[]) => createHash('sha256').update(JSON.stringify(bound, sorted)).digest('hex');

/** A JSON replacer that puts the fields of every object in one order. */
const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * The plan as text: what it does first, the request last. The request's own values are JSON, so they cannot pass for our
 * words, and what is invisible is spelled out everywhere.
 */
export function planLines(plan: Plan): string[] {
  return [
    plan.summary,
    `Where: ${plan.where.map(spellOut).join(', ')}.`,
    '',
    ...section('What will happen:', plan.consequences),
    ...section('Warnings:', plan.warnings),
    ...section(
      'Defaults that the cloud applies:',
      plan.defaults.map(({ path, value }) => `${path}: ${value}`),
    ),
    ...section('Not checked:', plan.notChecked),
    'Request:',
    ...requestLines(plan),
  ];
}

/** The request as it would be sent: method and URL, headers, and the body as JSON. */
export const requestLines = ({ method, url, headers, body }: Plan): string[] => [
  `${method} ${url}`,
  ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ...(body === undefined ? [] : JSON.stringify(body, null, 2).split('\n').map(spellOut)),
];

const section = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `- ${spellOut(line)}`), ''];

/** Clients show two lines of a question, and some have 24 in all. */
const maximumLines = 8;
const maximumQuestion = 2000;
const longestValue = 80;

/**
 * The question that a person answers: the whole decision in its first line, then at most eight sentences with everything else
 * that would be sent. Long values are cut, lines never are.
 * @returns undefined if that is too much for one screen: then nobody can be asked
 */
export function questionText(plan: Plan, call: PlannedCall): string | undefined {
  const { change, input, endpoint } = call;
  const [cost, ...consequences] = plan.consequences;
  const isNamed = (path: string) => change.named.some((name) => path === name || path.startsWith(`${name}.`));
  const others = [...leavesOf(withoutSecrets(call, input))].filter(
    ([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')),
  );
  const sentence = (title: string, parts: readonly string[]) =>
    parts.length === 0 ? [] : [`${title}: ${parts.join(', ')}.`];
  const lines = [
    ...consequences,
    ...sentence('Where', plan.where),
    ...sentence('Also', grouped(others)),
    ...sentence(
      'Defaults',
      plan.defaults.map(({ path, value }) => `${path} ${value}`),
    ),
    ...plan.warnings,
    ...sentence('Not checked', plan.notChecked),
  ];
  // Warnings share lines before anything is left out.
  const kept =
    lines.length <= maximumLines
      ? lines
      : [...lines.slice(0, maximumLines - 1), lines.slice(maximumLines - 1).join(' ')];
  const text = [`${change.headline(input, endpoint.region)}? ${cost ?? ''}`.trim(), ...kept].map(spellOut).join('\n');
  return text.length > maximumQuestion ? undefined : text;
}

/** Values under the path of the group that they are in, which is said once: `adminWorkstation (region "a", keyName "b")`. */
function grouped(leaves: readonly (readonly [string, unknown])[]): string[] {
  const groups = new Map<string, string[]>();
  for (const [path, value] of leaves) {
    const end = path.lastIndexOf('.');
    const group = path.slice(0, Math.max(end, 0));
    const shown = `${path.slice(end + 1)} ${typeof value === 'string' ? quote(value, longestValue) : JSON.stringify(value)}`;
    groups.set(group, [...(groups.get(group) ?? []), shown]);
  }
  return [...groups].map(([group, values]) => (group === '' ? values.join(', ') : `${group} (${values.join(', ')})`));
}

/** A plan with more than this in its request could not be reviewed by anybody (characters of JSON). */
const largestPlan = 40_000;

/** Whether a plan can be shown whole. */
export const canBeShown = ({ body }: Plan): boolean => (JSON.stringify(body)?.length ?? 0) <= largestPlan;
