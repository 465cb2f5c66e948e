import { createHash } from 'node:crypto';
import type { Change, Default, Operation } from '../tools/define-operation.js';
import { place, regionWarnings } from '../tools/schema/zones.js';
import type { Endpoint, WireRequest } from '../transport/request.js';
import { fieldInWords } from '../util/field-names.js';
import { sentences } from '../util/human.js';
import { parseJson, textsAt, valueAt, withTexts } from '../util/objects.js';
import { quote } from '../util/quote.js';
import {
  argument,
  defined,
  distinct,
  fitted,
  inFull,
  join,
  listed,
  longestLabelName,
  own,
  type SafeText,
  say,
  withArgumentNames,
  words,
} from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { fieldsSentence } from './fields-sentence.js';
import { longestInPlan, type OtherArguments, otherArguments } from './other-arguments.js';
import { type PlanTable, planTables } from './plan-tables.js';

type Fields = Readonly<Record<string, unknown>>;

/** A change with its request and its effects, as a person sees it before deciding. Secrets are replaced. */
export interface Plan {
  /** The change in one sentence. */
  readonly summary: SafeText;
  readonly method: string;
  /** Address of the request with the query, as it is sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Body of the request: a JSON value, or an XML document as text. Absent for a request without a body. */
  readonly body?: unknown;
  /** Account, region and zone, each with its source: `region jp-east-1 (given)`. An account without a name is shown by its key ID. */
  readonly where: readonly SafeText[];
  /** The present state of the thing that would change, with the time of reading, or the reason for not knowing it. */
  readonly found?: SafeText;
  /** A warning that follows from `found`, shown directly below the summary. */
  readonly alert?: SafeText;
  /** Sentences about other plans for the same thing, made each time that the plan is shown. Absent if there are none. */
  readonly others?: readonly SafeText[];
  /** Everything that will be created, changed or billed. */
  readonly consequences: readonly SafeText[];
  readonly risks: readonly Risk[];
  /** Arguments that neither the summary nor the consequences name. Absent if there are none. */
  readonly also?: OtherArguments;
  /** The lists among the arguments, as tables. Absent if there are none. */
  readonly tables?: readonly PlanTable[];
  /** Set if the change goes to the built-in sandbox, so that nothing real happens. */
  readonly sandbox?: true;
  readonly defaults: readonly NamedDefault[];
  readonly warnings: readonly SafeText[];
  readonly notChecked: readonly SafeText[];
}

/** A serious consequence, in words that fit on the accepting button. */
export type Risk = 'costs money' | 'no way back';

/** A default with the name of its field in words. */
interface NamedDefault {
  readonly name: SafeText;
  readonly value: SafeText;
}

export type RegionSource = 'given' | 'configured' | 'default';

/** A change with everything from which its plan and its question are made. */
export interface PlanInput {
  readonly operation: Operation;
  readonly change: Change;
  /** Validated arguments without the control arguments: `planOnly`, `planId`, `allowRepeat`, `withdraw` and `replaces`. */
  readonly input: Fields;
  /** Arguments with which the same call can be made again: the client's, with the names of secret files, `allowRepeat`, and the account. */
  readonly args: Fields;
  readonly request: WireRequest;
  /** `input` and `request` for people and the journal, with words in place of each secret and of an idempotency token. */
  readonly shownInput: Fields;
  readonly shownRequest: WireRequest;
  readonly endpoint: Endpoint;
  /** Name of the account, if accounts have names. */
  readonly accountName?: string | undefined;
  /** Set if there are several accounts and the call names none, so that the default account is used. */
  readonly isDefaultAccount?: boolean;
  /** ID of the access key. Another access key of the account may sign the request, if the keys change before it is sent. */
  readonly keyId: string;
  readonly regionSource: RegionSource;
  /** The present state of the thing that would change: see `Plan.found`. */
  readonly found?: SafeText | undefined;
  readonly alert?: SafeText | undefined;
  /** Names of the secret files that the call gives, by the dotted path of the secret. */
  readonly nameBySecretPath?: Readonly<Record<string, string>>;
}

/**
 * Makes the plan of a change from `call` alone, without reading or sending anything. `call.change` makes the operation's own texts, such as the
 * headline. The plan does not show the values of secret arguments. A secret that is also a part of another argument is shown there.
 */
export function makePlan(call: PlanInput): Plan {
  const { operation, change: ownTexts, input, shownInput, endpoint, found, alert } = call;
  const { region, isSandbox = false } = endpoint;
  const schema = operation.input();
  /** Replaces names of arguments in a text by words: `diskSize` becomes `disk size`. Consequences and warnings may name arguments. */
  const inWords = (text: SafeText) => withArgumentNames(text, (path) => fieldInWords(schema, path));

  // `also` and `tables` show arguments of any kind, so they are made from `shownInput`. The operation's own texts are made from `input`, because no
  // operation names a secret in them.
  const also = otherArguments(ownTexts.named, shownInput, longestInPlan);
  const hasOtherArguments = also.fields.length > 0 || also.lists.length > 0;
  const tables = planTables(operation, shownInput);
  const hints = hintsOf(operation, ownTexts, input, region);
  const destruction = operation.effect === 'delete' ? [say`This is destructive.`] : [];

  return {
    summary: say`${ownTexts.headline(input, region)}.`,
    ...requestOf(call),
    where: whereOf(call),
    ...(found !== undefined && { found }),
    ...(alert !== undefined && { alert }),
    consequences: [...destruction, ...ownTexts.consequences(input, region)].map(inWords),
    risks: risksOf(call),
    ...(hasOtherArguments && { also }),
    ...(tables.length > 0 && { tables }),
    ...(isSandbox && { sandbox: true }),
    // `defined` marks the texts as safe, because they are from the operation's definition. The call only decides which defaults apply.
    defaults: hints.defaults.map(({ path, value }) => ({
      name: defined(fieldInWords(schema, path) ?? path),
      value: defined(value),
    })),
    warnings: [...pastedSecretWarnings(call), ...hints.warnings].map(inWords),
    notChecked: ownTexts.notChecked.map(defined),
  };
}

/** The request as a person reviews it. Words stand for the date and the signature, which are known only when the request is sent. */
function requestOf(call: PlanInput): Pick<Plan, 'method' | 'url' | 'headers' | 'body'> {
  const { shownRequest, endpoint, keyId } = call;
  const { method, target, content, body } = shownRequest;
  const { origin, region, service, profile } = endpoint;
  const headers = {
    ...shownRequest.headers,
    [profile.dateHeader]: 'the time of sending',
    authorization: `signed as ${keyId} for service ${service} in ${region}`,
  };
  return {
    method,
    url: origin + target,
    headers,
    // The request's words in place of secrets may be encoded, as in base64.
    ...(body !== undefined && { body: withDecodedSecretMarks(call, bodyValue(body, content)) }),
  };
}

/** The value of a body that is a form or JSON, or else its text, such as XML. Only `content` has the value of a form. */
function bodyValue(body: string, content: WireRequest['content']): unknown {
  if (body !== '' && content?.kind === 'form') return content.value;
  return parseJson(body) ?? body;
}

/** Describes the destination of a change. The name of an account comes before the region. A key ID in place of the name comes last. */
function whereOf(call: PlanInput): readonly SafeText[] {
  const account = say`${accountText(call)}${words(call.isDefaultAccount === true ? ' (default)' : '')}`;
  const sandbox = sandboxOf(call).map(destinationText);
  const others = [...regionsOf(call), ...zonesOf(call)].map(destinationText);
  return call.accountName === undefined ? [...sandbox, ...others, account] : [...sandbox, account, ...others];
}

const destinationText = ({ name, source }: Destination) => (source === undefined ? name : say`${name} (${source})`);

/** The account by its name, or by the ID of its access key if accounts have no names. */
export const accountText = ({ accountName, keyId }: Pick<PlanInput, 'accountName' | 'keyId'>): SafeText =>
  say`account ${own(accountName ?? keyId)}`;

function risksOf({ operation, change }: Pick<PlanInput, 'operation' | 'change'>): readonly Risk[] {
  // A deletion is irreversible unless its definition says otherwise.
  const { costsMoney, irreversible = operation.effect === 'delete' } = change;
  const risks: Risk[] = [];
  if (costsMoney) risks.push('costs money');
  if (irreversible) risks.push('no way back');
  return risks;
}

/** Label of the accepting button, with the risks: `Create server "wiki" (costs money)`. */
export function acceptOf(call: Pick<PlanInput, 'operation' | 'change' | 'input'>): SafeText {
  const risks = risksOf(call);
  const risk = risks.length === 0 ? words('') : say` (${risksIn(risks)})`;
  return say`${fitted(call.change.accept(call.input), longestAccept - risk.text.length, longestLabelName).line}${risk}`;
}

/** Maximum length of the label (characters). In a terminal of 80 columns, some clients truncate longer options. */
const longestAccept = 48;

const risksIn = (risks: readonly Risk[]): SafeText =>
  join(
    risks.map((risk) => words(risk)),
    ', ',
  );

/** A warning for each secret that came in the call itself. If the operation takes the name of a secret file instead, the warning says so. */
function pastedSecretWarnings({ operation, input, nameBySecretPath = {} }: PlanInput): readonly SafeText[] {
  const pasted = (operation.secrets ?? []).filter(
    (path) => textsAt(input, path).length > 0 && nameBySecretPath[path] === undefined,
  );
  return pasted.map((path) => {
    const namePath = namePathOf(operation, path);
    const advice =
      namePath === undefined
        ? words('')
        : say` Give ${argument(namePath)} instead: it takes the name of a secret on this server.`;
    return say`${argument(path.replaceAll('[]', ''))} came with the call, so the client and the provider of its model have seen it and may keep it.${advice}`;
  });
}

/** The path of the argument that takes the name of a secret file in place of the secret at `secretPath`; undefined if there is none. */
function namePathOf({ secretNames = {} }: Operation, secretPath: string): string | undefined {
  const [namePath] = Object.entries(secretNames).find(([, secret]) => secret === secretPath) ?? [];
  return namePath;
}

/** The sandbox, the region or the zone that a change goes to: `region jp-east-1`. */
interface Destination {
  readonly name: SafeText;
  /** The source of the region or zone, such as `given` (by an argument of the call) or `configured`. */
  readonly source?: SafeText;
}

/** The sandbox, the regions and the zones that a change goes to, the most important first. The account is not among them. */
export const destinationsOf = (call: PlanInput): readonly Destination[] => [
  ...sandboxOf(call),
  ...regionsOf(call),
  ...zonesOf(call),
];

const sandboxOf = ({ endpoint }: PlanInput): readonly Destination[] =>
  endpoint.isSandbox === true ? [{ name: say`the built-in sandbox` }] : [];

const regionSources = {
  given: words('given'),
  configured: words('configured'),
  default: words("this server's default"),
} as const;

/** The region in the arguments, and the region whose endpoint gets the request. There is one region if both are the same. */
function regionsOf({ operation, input, endpoint: { region }, regionSource }: PlanInput): readonly Destination[] {
  const regionInArguments = firstText(input.region ?? input.regions);
  const source = regionSources[regionSource];
  if (regionInArguments === region) return [{ name: say`region ${place(region)}`, source: regionSources.given }];
  if (regionInArguments !== undefined)
    return [
      { name: say`region ${place(regionInArguments)}`, source: regionSources.given },
      { name: say`request sent to ${place(region)}`, source },
    ];

  // If the operation has no argument `region`, the region only says which endpoint gets the request.
  const kind = words('region' in operation.input().shape ? 'region' : 'request sent to');
  return [{ name: say`${kind} ${place(region)}`, source }];
}

/** The zone in the arguments, or the documented default zone of the cloud, if there is one. */
function zonesOf({ operation, input, endpoint: { region } }: PlanInput): readonly Destination[] {
  const zoneInArguments = firstText(input.availabilityZone ?? input.availabilityZones);
  if (zoneInArguments !== undefined) return [{ name: say`zone ${place(zoneInArguments)}`, source: words('given') }];
  return knownDefaults(operation, input, region)
    .filter(({ path }) => path === 'availabilityZone')
    .map(({ value }) => ({ name: say`zone ${defined(value)}`, source: words("the cloud's default") }));
}

/** Returns a text itself, or the first text of a list; undefined for any other value. */
const firstText = (value: unknown) => [value].flat().find((element) => typeof element === 'string');

/**
 * Returns the cloud's defaults for absent arguments, and warnings about values that are allowed but probably not meant.
 * @param input the valid arguments
 * @param args all arguments, including invalid arguments, which do not count as absent
 */
export function hintsOf(operation: Operation, change: Change, input: Fields, region: string, args: Fields = input) {
  const undocumented = undocumentedDefaults(operation, args, region);
  return {
    defaults: knownDefaults(operation, args, region),
    warnings: [
      ...regionWarnings(operation.regions, region),
      ...distinct(change.warnings(input, region, args)),
      ...(undocumented.length === 0 ? [] : [undocumentedWarning(undocumented, operation.costDrivers)]),
    ],
  };
}

const isAbsent = (args: Fields, path: string) => valueAt(args, path) === undefined;

/** The documented defaults that the cloud applies in a region to the absent arguments. */
function knownDefaults({ defaults }: Operation, args: Fields, region: string): { path: string; value: string }[] {
  const known: { path: string; value: string }[] = [];
  for (const documented of defaults) {
    const value = valueIn(region, documented);
    if (value !== undefined && isAbsent(args, documented.path)) known.push({ path: documented.path, value });
  }
  return known;
}

/** The documented default of a region; undefined if the default of this region is not documented. */
const valueIn = (region: string, { value, inRegion }: Default): string | undefined => {
  if (inRegion === undefined) return value;
  // `hasOwn`, because a caller may name any region, even `constructor`, which every object inherits.
  return Object.hasOwn(inRegion, region) ? inRegion[region] : undefined;
};

/** Paths of absent arguments whose default is not documented. If a whole object is absent, its fields are left out. */
function undocumentedDefaults(operation: Operation, args: Fields, region: string): readonly string[] {
  const { unknownDefaults = [], defaults } = operation;
  const isInAbsentObject = (path: string) => {
    const object = path.split('.').slice(0, -1).join('.');
    return object !== '' && isAbsent(args, object);
  };
  const unknown = unknownDefaults.filter((path) => !isInAbsentObject(path));
  const unknownInRegion = defaults.filter((documented) => valueIn(region, documented) === undefined);
  return [...unknown, ...unknownInRegion.map(({ path }) => path)].filter((path) => isAbsent(args, path));
}

function undocumentedWarning(paths: readonly string[], costDrivers: readonly string[] = []): SafeText {
  const costly = paths.filter((path) => costDrivers.includes(path));
  const cost = costly.length === 0 ? words('') : say`, and the cost depends on ${listed(costly.map(argument))}`;
  return say`Not given: ${join(paths.map(argument), ', ')}. What the cloud uses instead is not documented${cost}.`;
}

type SecretsOfCall = Pick<PlanInput, 'operation' | 'input' | 'nameBySecretPath'>;

/** Copies a value with words in place of each secret of a call (`secretMarks`). Without secrets, returns the value itself. */
export function withoutSecrets<Value>(call: SecretsOfCall, value: Value): Value {
  // All secrets are replaced in one copy, because a list may have a thousand of them.
  const marks = secretMarks(call);
  return marks.size === 0 ? value : withTexts(value, marks);
}

/** The words in place of each secret of a call: the name of the secret file, or a fingerprint. */
function secretMarks({ operation, input, nameBySecretPath = {} }: SecretsOfCall): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  for (const path of operation.secrets ?? []) {
    const name = nameBySecretPath[path];
    for (const secret of textsAt(input, path)) {
      if (marks.has(secret)) continue;
      marks.set(secret, name === undefined ? fingerprint(secret) : `the secret ${quote(name)} of this server`);
    }
  }
  return marks;
}

/**
 * Decodes the words in place of secrets. If a request has a secret in base64 or percent-encoded, the words in its place are encoded too, and would
 * look like the secret.
 */
function withDecodedSecretMarks(call: SecretsOfCall, body: unknown): unknown {
  const readable = new Map<string, string>();
  for (const mark of secretMarks(call).values()) {
    const encoded = Buffer.from(mark).toString('base64');
    for (const form of [encoded, encodeSegment(encoded), encodeSegment(mark)]) readable.set(form, mark);
  }
  if (typeof body !== 'string') return withTexts(body, readable);
  return [...readable].reduce((text, [form, mark]) => text.replaceAll(form, () => mark), body);
}

/** A shorter secret can be guessed from its SHA-256 (characters). */
const shortestWithHash = 16;

/**
 * The words in place of a secret: at most `longestName` characters, so that no table cuts them. The beginning of the SHA-256 tells people whether
 * two secrets are the same.
 */
export function fingerprint(secret: string): string {
  if (secret.length < shortestWithHash) return 'hidden secret';
  return `hidden secret (SHA-256 ${createHash('sha256').update(secret).digest('hex').slice(0, 8)})`;
}

/**
 * The plan as text for a person, without the request.
 * @param until the time at which the plan expires; undefined if no later call can carry out the plan
 */
export function planText(plan: Plan, until: string | undefined): SafeText {
  const { headline, cautions, details } = planParts(plan);
  const lists = section(words('Lists:'), plan.also?.lists ?? []);
  const holds = until === undefined ? [] : [words(''), say`This plan holds until ${defined(until)}.`];
  return join([headline, ...cautions, ...details, ...lists, ...holds], '\n');
}

/**
 * Returns the lines of a plan: the headline, the cautions below the headline (other plans for the same thing, the alert and the risks), and the
 * details. The details leave out the lists among the arguments, which callers add as text or as tables.
 */
export function planParts(plan: Plan) {
  const { others: otherPlans = [], found: presentState, also: otherArguments } = plan;
  // The headline cuts long names. The details begin with these names in full.
  const headline = fitted(plan.summary);

  const cautions = [...otherPlans];
  // `alertLine` names the risks too.
  if (plan.alert !== undefined) cautions.push(alertLine(plan));
  else if (plan.risks.length > 0) cautions.push(say`Risk: ${risksIn(plan.risks)}.`);

  const defaults = plan.defaults.map(({ name, value }) => say`${name}: ${value}`);
  const details = [
    ...inFull(headline),
    say`Where: ${join(plan.where, ', ')}.`,
    ...fieldsSentence(otherArguments),
    ...(presentState === undefined ? [] : [presentState]),
    ...section(words('What will happen:'), plan.consequences),
    ...section(words('Warnings:'), plan.warnings),
    ...section(words('Defaults that the cloud applies:'), defaults),
    ...section(words('Not checked:'), plan.notChecked),
  ];
  return { headline: headline.line, cautions, details };
}

const riskSentences: Readonly<Record<Risk, SafeText>> = {
  'costs money': say`It costs money.`,
  'no way back': say`This cannot be undone.`,
};

export const riskSentencesOf = ({ risks }: Plan): readonly SafeText[] => risks.map((risk) => riskSentences[risk]);

/** The alert and the risks of a plan in one line; empty if the plan has neither. */
export const alertLine = (plan: Plan): SafeText => join(sentences(plan.alert ?? false, ...riskSentencesOf(plan)), ' ');

/** A default of the cloud with the path of its argument: `controlPlane.count: 3`. */
export const defaultText = ({ path, value }: Default): SafeText => say`${own(path)}: ${defined(value)}`;

const section = (title: SafeText, lines: readonly SafeText[]) =>
  lines.length === 0 ? [] : [words(''), title, ...lines.map((line) => say`- ${line}`)];

/** Maximum size of a request's body that a person can review (characters of JSON). */
const largestBody = 40_000;

export const canBeShown = ({ body }: Plan): boolean => (JSON.stringify(body)?.length ?? 0) <= largestBody;
