import { withDecodedSecretMarks } from '../calls/call-secrets.js';
import type { OtherArguments, Plan, PlanTable, Risk } from '../calls/outcome.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { fieldsSentence } from '../calls/result-text.js';
import type { Operation } from '../tools/define-operation.js';
import { place as placeName } from '../tools/schema/answer-texts.js';
import { fieldInWords, fieldUnit } from '../util/field-names.js';
import { sentenceCase, sentences } from '../util/human.js';
import { groupedBy, isObject, leavesOf, parseJson, textsAt } from '../util/objects.js';
import {
  cut,
  defined,
  duration,
  fitted,
  join,
  longestLabelName,
  longestName,
  own,
  type SafeText,
  say,
  sentence,
  shortNames,
  shownValue,
  type Wording,
  withTimes,
  words,
} from '../util/safe-text.js';
import { hintsOf, knownDefaults } from './hints.js';

/** This file shows a change to people before they decide: as a plan, as the plan's text, and as a question. */

type PlanInput = Omit<
  ResolvedChange,
  'kind' | 'account' | 'verificationHint' | 'followTool' | 'control' | 'budget' | 'isOffered'
>;

/** Makes the plan of a change from `call` alone, without reading or sending anything. Shows no values of secret arguments. */
export function makePlan(call: PlanInput): Plan {
  const { operation, change: ownTexts, input, shownInput, shownRequest, keyId, endpoint, found, alert } = call;
  const { origin, region, isSandbox = false } = endpoint;
  const { method, target, body } = shownRequest;
  const schema = operation.input();
  const nameOf = (path: string): SafeText => {
    const name = fieldInWords(schema, path);
    if (name === undefined) return own(path);
    // A name with a number has no article: `node pool 1`.
    return /\d$/.test(name) ? defined(name) : say`the ${defined(name)}`;
  };

  // No operation names a secret in its own texts.
  const also = otherArguments(ownTexts.named, shownInput, longestInPlan);
  const hasOtherArguments = also.fields.length > 0 || also.lists.length > 0;
  const tables = planTables(operation, shownInput, call.list !== undefined);
  const hints = hintsOf(operation, ownTexts, input, region, nameOf);

  return {
    summary: say`${ownTexts.headline(input, region)}.`,
    // Without the date and the signature.
    method,
    url: origin + target,
    headers: {
      ...shownRequest.headers,
      ...signatureLines(endpoint, keyId),
    },
    // Marks of secrets may be encoded, as in base64.
    ...(body !== undefined && { body: withDecodedSecretMarks(call, parseJson(body) ?? body) }),
    where: whereOf(call),
    ...(found !== undefined && { found }),
    ...(alert !== undefined && { alert }),
    consequences: ownTexts.consequences(input, region),
    risks: risksOf(call),
    ...(hasOtherArguments && { also }),
    ...(tables.length > 0 && { tables }),
    ...(isSandbox && { sandbox: true }),
    // From the operation's definition, so safe.
    defaults: hints.defaults.map(({ path, value }) => ({
      name: defined(fieldInWords(schema, path) ?? path),
      value: defined(value),
    })),
    warnings: [...pastedSecretWarnings(call, nameOf), ...hints.warnings],
    notChecked: ownTexts.notChecked.map(defined),
  };
}

function signatureLines({ profile, service, region }: PlanInput['endpoint'], keyId: string): Record<string, string> {
  const time = 'the time of sending';
  switch (profile.kind) {
    case 'v4':
      return { [profile.dateHeader]: time, authorization: `signed as ${keyId} for service ${service} in ${region}` };
    case 'v3':
      return { date: time, 'x-amzn-authorization': `the date signed as ${keyId} (version 3)` };
    case 'v2':
      return { signature: `added to the body with the time of sending, signed as ${keyId} (version 2)` };
  }
}

function whereOf(call: PlanInput): Plan['where'] {
  const place = accountText(call);
  const account = call.isDefaultAccount === true ? { place, source: words('default') } : { place };
  const places = destinationsOf(call);
  const before = call.endpoint.isSandbox === true ? 1 : 0;
  return call.accountName === undefined ? [...places, account] : places.toSpliced(before, 0, account);
}

const accountText = ({ accountName, keyId }: Pick<ResolvedChange, 'accountName' | 'keyId'>): SafeText =>
  say`account ${own(accountName ?? keyId)}`;

const risksOf = ({ operation, change }: Pick<ResolvedChange, 'operation' | 'change'>): readonly Risk[] => [
  ...(change.costsMoney === false ? [] : [change.costsMoney ? ('costs money' as const) : ('may cost money' as const)]),
  ...((change.irreversible ?? operation.effect === 'delete') ? (['no way back'] as const) : []),
];

export function acceptOf(call: Pick<ResolvedChange, 'operation' | 'change' | 'input'>): SafeText {
  const risks = risksOf(call).map((risk) => words(risk));
  const risk = risks.length === 0 ? words('') : say` (${join(risks, ', ')})`;
  // Some clients truncate longer options (characters).
  return say`${fitted(call.change.accept(call.input), 48 - risk.text.length, longestLabelName)}${risk}`;
}

/** Paths of the secrets that came in the call itself. */
export const pastedSecrets = ({
  operation: { secrets = [] },
  input,
  nameBySecretPath = {},
}: PlanInput): readonly string[] =>
  secrets.filter((path) => textsAt(input, path).length > 0 && nameBySecretPath[path] === undefined);

function pastedSecretWarnings(call: PlanInput, nameOf: (path: string) => SafeText): readonly SafeText[] {
  const { secretNames = {} } = call.operation;
  return pastedSecrets(call).map((path) => {
    const [namePath] = Object.keys(secretNames).filter((name) => secretNames[name] === path);
    const advice =
      namePath === undefined
        ? words('')
        : say` Give ${nameOf(namePath)} instead: it takes the name of a secret on this server.`;
    return say`${sentence(nameOf(path.replaceAll('[]', '')))} came with the call, so the client and the provider of its model have seen it and may keep it.${advice}`;
  });
}

const given = words('given');
const regionSources = { given, configured: words('configured'), default: words("this server's default") } as const;

/** The destinations of a change, the most important first. */
function destinationsOf({ operation, input, endpoint, regionSource }: PlanInput): Plan['where'] {
  const { region, isSandbox } = endpoint;
  const regionInArguments = firstText(input.region ?? input.regions);
  const zoneInArguments = firstText(input.availabilityZone ?? input.availabilityZones);
  const zones = knownDefaults(operation, input, region).filter(({ path }) => path === 'availabilityZone');
  const isRegionOfThing = regionInArguments === undefined && 'region' in operation.input().shape;
  // Otherwise, the region only says which endpoint gets the request.
  const kind = words(isRegionOfThing ? 'region' : 'request sent to');
  return [
    ...(isSandbox === true ? [{ place: say`the built-in sandbox` }] : []),
    ...(regionInArguments === undefined ? [] : [{ place: say`region ${placeName(regionInArguments)}`, source: given }]),
    ...(regionInArguments === region
      ? []
      : [{ place: say`${kind} ${placeName(region)}`, source: regionSources[regionSource] }]),
    ...(zoneInArguments === undefined
      ? zones.map(({ value }) => ({ place: say`zone ${defined(value)}`, source: words("the cloud's default") }))
      : [{ place: say`zone ${placeName(zoneInArguments)}`, source: given }]),
  ];
}

const firstText = (value: unknown) => [value].flat().find((element) => typeof element === 'string');

/** The places of a plan, each with its source. */
export const placesOf = ({ where }: Plan): readonly SafeText[] =>
  where.map(({ place, source }) => (source === undefined ? place : say`${place} (${source})`));

/** The plan as text for a person, without the request. */
export function planText(plan: Plan, until: string | undefined): SafeText {
  const holds = until === undefined ? [] : [words(''), say`This plan holds until ${defined(until)}.`];
  const where = say`Where: ${join(placesOf(plan), ', ')}.`;
  const lines = [shortNames(plan.summary), ...cautionsOf(plan), where, ...planDetails(plan), ...holds];
  return withTimes(join(lines, '\n'), (time) =>
    defined(`${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`),
  );
}

/** The lines below the headline. A client may cut the end. */
function cautionsOf(plan: Plan): readonly SafeText[] {
  const alerts = sentences(plan.alert ?? false, ...riskSentencesOf(plan));
  return [...(alerts.length === 0 ? [] : [join(alerts, ' ')]), ...(plan.others ?? [])];
}

/** The consequences that the risks do not tell already. */
const consequencesOf = (plan: Plan): readonly SafeText[] =>
  plan.consequences.filter((consequence) => !riskSentencesOf(plan).some((risk) => risk.text === consequence.text));

export function planDetails(plan: Plan): readonly SafeText[] {
  const { found, also } = plan;
  const defaults = plan.defaults.map(({ name, value }) => say`${name}: ${value}`);
  return [
    ...inFull(plan, shortNames(plan.summary)),
    ...fieldsSentence(also),
    ...(found === undefined ? [] : [found]),
    ...section(words('What will happen:'), consequencesOf(plan)),
    ...section(words('Warnings:'), plan.warnings),
    ...section(words('Defaults that the cloud applies:'), defaults),
    ...section(words('Not checked:'), plan.notChecked),
    ...section(words('Lists:'), also?.lists ?? []),
  ];
}

/** The whole summary, if a line of it lacks something. */
export function inFull({ summary }: Plan, line: SafeText): readonly SafeText[] {
  const whole = shortNames(summary, unlimited);
  return whole.text === line.text ? [] : [say`In full: ${whole}`];
}

const riskSentences: Readonly<Record<Risk, SafeText>> = {
  'costs money': say`It costs money.`,
  'may cost money': say`It may cost money.`,
  'no way back': say`This cannot be undone.`,
};

const riskSentencesOf = ({ risks }: Plan): readonly SafeText[] => risks.map((risk) => riskSentences[risk]);

const section = (title: SafeText, lines: readonly SafeText[]) =>
  lines.length === 0 ? [] : [words(''), title, ...lines.map((line) => say`- ${line}`)];

/** False for a body that is too long for a person to review (characters of JSON). */
export const canBeShown = ({ body }: Plan): boolean => (JSON.stringify(body)?.length ?? 0) <= 40_000;

/** The size of a question that every client shows whole. */
export interface QuestionLimits {
  readonly lines: number;
  readonly characters: number;
  /** In characters. */
  readonly lineLength: number;
}

/** Not infinite, because JSON has no infinite numbers. */
const unlimited = Number.MAX_SAFE_INTEGER;

/**
 * Makes the question for a person, with everything that would be sent.
 * @returns undefined if the question is longer than `limits.characters`
 */
export function questionText(
  plan: Plan,
  call: ResolvedChange,
  limits: QuestionLimits,
  now: Date,
): SafeText | undefined {
  const { lines, omitted, isShort } = decisionLines(plan, call, limits);
  // Not `plan.also`, which is shortened.
  const also = otherArguments(call.change.named, call.shownInput, unlimited);
  const defaults = plan.defaults.map(({ name, value }) => say`${name} ${value}`);

  // Lines about the request show all names and values in full.
  const laterLines = [
    ...omitted,
    ...(plan.found === undefined ? [] : [plan.found]),
    ...withUncutNames(consequencesOf(plan)),
    ...withUncutNames(titled('Where', isShort ? placesOf(plan) : [])),
    ...withUncutNames(titled('Also', [...also.lists, ...also.fields])),
    ...titled('Defaults', defaults),
    ...plan.warnings,
    ...titled('Not checked', plan.notChecked),
  ];

  // The last lines are joined, so that nothing is left out.
  const rest = laterLines.splice(limits.lines - lines.length - 1);
  const lastLine = rest.length === 0 ? [] : [join(rest, ' ')];
  const question = withAges(join([...lines, ...laterLines, ...lastLine], '\n'), now);
  return question.text.length <= limits.characters ? question : undefined;
}

/** The question about a plan that is shown beside it. */
export const shortQuestion = (plan: Plan, call: ResolvedChange, limits: QuestionLimits, now: Date): SafeText =>
  withAges(join(decisionLines(plan, call, limits).lines, '\n'), now);

const withAges = (text: SafeText, now: Date): SafeText =>
  withTimes(text, (time) => {
    const seconds = (now.getTime() - time) / 1000;
    if (Math.abs(seconds) < 1) return words('now');
    return seconds < 0 ? say`${duration(-seconds)} from now` : say`${duration(seconds)} ago`;
  });

const withUncutNames = (texts: readonly SafeText[]): SafeText[] => texts.map((text) => shortNames(text, unlimited));

const titled = <const Title extends string>(title: Wording<Title>, values: readonly SafeText[]): SafeText[] =>
  values.length === 0 ? [] : [say`${words(title)}: ${join(values, ', ')}.`];

/** `isShort` if the lines leave out sources and places. */
function decisionLines(plan: Plan, call: ResolvedChange, limits: QuestionLimits) {
  const headline = headlineOf(call, limits.lineLength - 1);
  const cautions = cautionsOf(plan);
  const where = say`${sentence(join(placesOf(plan), ', '))}.`;
  const isShort = where.text.length > limits.lineLength;
  const caution = cautions.length === 0 ? [] : [join(cautions, ' ')];
  const lines = [say`${headline}?`, ...caution, isShort ? whereLine(call, limits) : where];
  return { lines, omitted: inFull(plan, say`${headline}.`), isShort };
}

function headlineOf({ change, input, endpoint }: ResolvedChange, limit: number): SafeText {
  const whole = shortNames(change.headline(input, endpoint.region));
  return whole.text.length <= limit ? whole : fitted(change.shortHeadline?.(input) ?? whole, limit);
}

/** Leaves out sources, and then zones. */
function whereLine(call: ResolvedChange, { lineLength }: QuestionLimits): SafeText {
  const account = cut(accountText(call), 'account '.length + 24);
  const destinations = destinationsOf(call).map(({ place }) => shortNames(place, longestLabelName));
  const charactersLeft = lineLength - account.text.length - ', .'.length;

  // The most important destination comes first.
  while (destinations.length > 1 && join(destinations, ', ').text.length > charactersLeft) destinations.pop();
  const shownDestinations = fitted(join(destinations, ', '), charactersLeft);
  return say`${sentence(join([shownDestinations, account], ', '))}.`;
}

/** Length limit of a value and of a list in the text of a plan (characters). */
const longestInPlan = 1_000;

type Leaf = readonly [path: string, value: unknown];

/**
 * Describes the arguments of a change that its headline and its consequences do not name.
 * @param named paths. An object covers its fields, and `pools[]` covers all entries of `pools`
 * @param longest limit of a value and of a list (characters)
 */
function otherArguments(
  named: readonly string[],
  input: Readonly<Record<string, unknown>>,
  longest: number,
): OtherArguments {
  const leaves = [...leavesOf(input)].filter(([path]) => {
    // `pools[].name` for `pools[2].name`.
    const field = path.replace(/\[\d+\]/g, '[]');
    return path !== '' && !named.some((name) => field === name || field.startsWith(`${name}.`));
  });
  const lists = outerListsIn(input);

  const listTexts: SafeText[] = [];
  for (const [listPath, { length }] of lists) {
    const leavesOfList = leaves.filter((leaf) => isInList(leaf, listPath));
    if (leavesOfList.length > 0) listTexts.push(...textsOfList(listPath, length, leavesOfList, longest));
  }

  const outsideLists = leaves.filter((leaf) => !lists.some(([listPath]) => isInList(leaf, listPath)));
  // `zones "a"`, not `zones[0] "a"`.
  const fields = outsideLists.map(([path, value]) => [path.replace(/\[0\]$/, ''), value] as const);
  return { fields: groupedTexts(fields, longest), lists: listTexts };
}

const isInList = ([path]: Leaf, listPath: string) => path.startsWith(`${listPath}[`);

/** Describes as many entries of a list as `longest` characters hold. */
function textsOfList(listPath: string, listLength: number, leaves: readonly Leaf[], longest: number): SafeText[] {
  const entries = [...groupedBy(leaves, ([path]) => path.slice(0, path.indexOf(']', listPath.length))).values()];
  // `.key` of `objects[0].key`.
  const fields = new Set(leaves.map(([path]) => path.slice(path.indexOf(']', listPath.length) + 1)));
  const [field = ''] = fields;
  // `objects[].key "a", "b"`
  const isOfOneField = fields.size === 1 && entries.length === listLength && leaves.length === listLength;

  const shown: SafeText[] = [];
  let notShown = entries.length;
  let charactersLeft = longest;
  for (const entry of entries) {
    const texts = isOfOneField ? entry.map(([, value]) => shownValue(value, longest)) : groupedTexts(entry, longest);
    charactersLeft -= join(texts, ', ').text.length;
    if (charactersLeft < 0) break;
    shown.push(...texts);
    notShown -= 1;
  }

  const name = field === '' ? listPath : `${listPath}[]${field}`;
  const inOneText = isOfOneField && shown.length > 0 ? [say`${own(name)} ${join(shown, ', ')}`] : shown;
  if (notShown === 0) return inOneText;
  return [...inOneText, say`${own(listPath)}: ${notShown} of ${entries.length} entries are only in the request`];
}

/** Finds the lists with an object or at least two entries, but not lists within lists. */
function outerListsIn(value: unknown, path = ''): (readonly [string, readonly unknown[]])[] {
  if (Array.isArray(value)) return value.length > 1 || value.some(isObject) ? [[path, value]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => outerListsIn(inner, path === '' ? name : `${path}.${name}`));
}

/** `adminWorkstation (region "a", keyName "b")` */
function groupedTexts(leaves: readonly Leaf[], longest: number): SafeText[] {
  const groups = groupedBy(leaves, ([path]) => path.slice(0, Math.max(path.lastIndexOf('.'), 0)));
  return [...groups].map(([group, fields]) => {
    const texts = fields.map(
      ([path, value]) => say`${own(path.slice(path.lastIndexOf('.') + 1))} ${shownValue(value, longest)}`,
    );
    const all = join(texts, ', ');
    return group === '' ? all : say`${own(group)} (${all})`;
  });
}

/** Makes a table of each list in `input`, the arguments without secrets. With `isWhole`, nothing of it is left out. */
export const planTables = (
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  isWhole = false,
): PlanTable[] => outerListsIn(input).map(([path, elements]) => tableOf(operation, path, elements, isWhole));

function tableOf(operation: Operation, path: string, elements: readonly unknown[], isWhole: boolean): PlanTable {
  const most = isWhole ? elements.length : 100;
  const longest = isWhole ? longestInPlan : longestName;
  const schema = operation.input();
  const rows = elements.slice(0, most).map((element) => new Map(leavesOf(element)));
  const allFields = new Set(rows.flatMap((row) => [...row.keys()]));
  const fields = [...allFields].slice(0, 12);
  const units = fields.map((field) => fieldUnit(schema, `${path}[0].${field}`));
  return {
    title: defined(sentenceCase(fieldInWords(schema, path) ?? path)),
    columns: fields.map((field) => defined(sentenceCase(columnName(schema, path, field)))),
    rows: rows.map((row) => fields.map((field, index) => cell(row.get(field), units[index], longest))),
    more: Math.max(0, elements.length - most),
  };
}

/** `disk size` and not `node pool's disk size`. */
function columnName(schema: ReturnType<Operation['input']>, path: string, field: string): string {
  if (field === '') return 'value';
  const name = fieldInWords(schema, `${path}[0].${field}`) ?? field;
  const owner = `${fieldInWords(schema, `${path}[0]`) ?? ''}'s `;
  return name.startsWith(owner) ? name.slice(owner.length) : name;
}

function cell(value: unknown, unit: string | undefined, longest: number): SafeText {
  if (value === undefined) return words('');
  const shown = shortNames(shownValue(value, longestInPlan), longest);
  return typeof value === 'string' || unit === undefined ? shown : say`${shown} ${defined(unit)}`;
}
