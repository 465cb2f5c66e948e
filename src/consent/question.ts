import { leavesOf } from '../util/objects.js';
import {
  cut,
  defined,
  fitted,
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
  inFull,
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
/** Some clients show only three lines, truncated to the width of a terminal. */
const longestLine = 70;
/** Maximum length of an account with its title, in characters. */
const longestAccount = 'account '.length + 24;

/**
 * Makes the question for a person. Its first lines hold the change, the risk and the places, and are short enough for every client. The
 * other lines hold everything that would be sent. Long values are truncated, but no lines are dropped.
 * @returns undefined if one screen cannot hold the question
 */
export function questionText(plan: Plan, call: PlanInput): SafeText | undefined {
  const { change, input } = call;
  const isNamed = (path: string) => change.named.some((name) => path === name || path.startsWith(`${name}.`));
  const others = [...leavesOf(withoutSecrets(call, input))].filter(
    ([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')),
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
    ...sentence('Also', grouped(others)),
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
  const text = join([...decision, ...kept], '\n');
  return text.text.length > maximumQuestion ? undefined : text;
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
