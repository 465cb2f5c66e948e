import { isObject, leavesOf } from '../util/objects.js';
import {
  cut,
  defined,
  fitted,
  inFull,
  join,
  longestLabelName,
  own,
  quoted,
  type SafeText,
  say,
  sentence as sentenceOf,
  shortNames,
  type Wording,
  words,
} from '../util/safe-text.js';
import {
  accountText,
  alertLine,
  type Plan,
  type PlanInput,
  placesOf,
  riskSentencesOf,
  withoutSecrets,
} from './plan.js';

/** Some clients show 24 lines in total. */
const maximumLines = 9;
const maximumQuestion = 2000;
const longestValue = 80;
/** Of longer lists, a question that would be too long has only the number of entries and the first `firstEntries`. */
const shortList = 5;
const firstEntries = 3;
/** Some clients show only three lines, truncated to the width of a terminal. */
const longestLine = 70;
/** Maximum length of an account with its title, in characters. */
const longestAccount = 'account '.length + 24;

/**
 * Makes the question for a person. Its first lines hold the change, the risk and the places, and are short enough for every client. The
 * other lines hold everything that would be sent. Long values are truncated, and no lines are dropped. If it is too long, long lists are
 * shortened, which a view and a page show in full.
 * @returns undefined if one screen cannot hold the question
 */
export function questionText(plan: Plan, call: PlanInput): SafeText | undefined {
  const whole = questionWith(plan, call, Number.POSITIVE_INFINITY);
  const text = whole.text.length > maximumQuestion ? questionWith(plan, call, shortList) : whole;
  return text.text.length > maximumQuestion ? undefined : text;
}

/** @param longestList of a longer list, the question has only the number of entries and the first ones */
function questionWith(plan: Plan, call: PlanInput, longestList: number): SafeText {
  const { change, input } = call;
  const isNamed = (path: string) => change.named.some((name) => path === name || path.startsWith(`${name}.`));
  const shownInput = withoutSecrets(call, input);
  const lists = [...listsIn(shownInput)].filter(
    ([path, entries]) => entries.length > longestList && !isNamed(`${path}[]`),
  );
  const others = [...leavesOf(shownInput)].filter(
    ([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')) && !lists.some(([list]) => path.startsWith(`${list}[`)),
  );
  const sentence = <const Title extends string>(title: Wording<Title>, parts: readonly SafeText[]) =>
    parts.length === 0 ? [] : [say`${words(title)}: ${join(parts, ', ')}.`];
  const decision = [...decisionLines(plan, call), whereLine(call)];
  const risks = riskSentencesOf(plan);
  const lines = [
    ...inFull(shortHeadline(call)),
    ...(plan.found === undefined ? [] : [plan.found]),
    ...plan.consequences.filter((one) => !risks.some((risk) => risk.equals(one))),
    ...sentence('Where', plan.where),
    ...sentence('Also', [...lists.map(([path, entries]) => listText(path, entries)), ...grouped(others)]),
    ...sentence(
      'Defaults',
      plan.defaults.map(({ name, value }) => say`${name} ${value}`),
    ),
    ...plan.warnings,
    ...sentence('Not checked', plan.notChecked),
  ];
  // Warnings share lines before anything is left out.
  const room = maximumLines - decision.length;
  const kept = lines.length <= room ? lines : [...lines.slice(0, room - 1), join(lines.slice(room - 1), ' ')];
  return join([...decision, ...kept], '\n');
}

/** The lists in a value that are not in other lists, with their paths. */
function* listsIn(value: unknown, path = ''): Generator<[string, readonly unknown[]]> {
  if (Array.isArray(value)) yield [path, value];
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) yield* listsIn(inner, path === '' ? name : `${path}.${name}`);
}

/** `objects: 60 entries, the first are "a", "b", "c"`. An entry is shown by its first text. */
function listText(path: string, entries: readonly unknown[]): SafeText {
  const names = entries.slice(0, firstEntries).map((entry) => {
    const [, first] = [...leavesOf(entry)].find(([, leaf]) => typeof leaf === 'string') ?? [];
    return quoted(typeof first === 'string' ? first : JSON.stringify(entry), longestValue);
  });
  return say`${own(path)}: ${entries.length} entries, the first are ${join(names, ', ')}`;
}

/** The change, and its alert with its risks, in a line each that is short enough for every client. */
export function decisionLines(plan: Plan, call: PlanInput): readonly SafeText[] {
  const alert = alertLine(plan);
  return [say`${shortHeadline(call).line}?`, ...(alert.text === '' ? [] : [alert])];
}

const shortHeadline = ({ change, input, endpoint }: PlanInput) =>
  fitted(change.headline(input, endpoint.region), longestLine - 1);

/** The places that a change goes to, without their origin: `Region jp-east-1, zone east-11, account default.` It always includes the account. */
function whereLine(call: PlanInput): SafeText {
  const account = cut(accountText(call), longestAccount);
  const places = placesOf(call).map(({ name }) => shortNames(name, longestLabelName));
  const room = longestLine - account.text.length - ', .'.length;
  while (places.length > 1 && join(places, ', ').text.length > room) places.pop();
  return say`${sentenceOf(join([fitted(join(places, ', '), room).line, account], ', '))}.`;
}

/** Groups values by the path of their parent: `adminWorkstation (region "a", keyName "b")`. */
function grouped(leaves: readonly (readonly [string, unknown])[]): SafeText[] {
  const groups = new Map<string, SafeText[]>();
  for (const [path, value] of leaves) {
    const end = path.lastIndexOf('.');
    const group = path.slice(0, Math.max(end, 0));
    const text = typeof value === 'string' ? quoted(value, longestValue) : defined(JSON.stringify(value));
    const shown = say`${own(path.slice(end + 1))} ${text}`;
    groups.set(group, [...(groups.get(group) ?? []), shown]);
  }
  return [...groups].map(([group, values]) => {
    const all = join(values, ', ');
    return group === '' ? all : say`${own(group)} (${all})`;
  });
}
