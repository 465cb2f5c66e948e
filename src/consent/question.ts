import {
  cut,
  fitted,
  inFull,
  join,
  longestLabelName,
  type SafeText,
  say,
  sentence,
  shortNames,
  type Wording,
  words,
} from '../util/safe-text.js';
import { otherArguments, shortList } from './other-arguments.js';
import {
  accountText,
  alertLine,
  type Plan,
  type PlanInput,
  placesOf,
  riskSentencesOf,
  withoutSecrets,
} from './plan.js';

/** The size of a question that every client shows, and the length of a line that no client cuts. */
export interface QuestionLimits {
  readonly lines: number;
  readonly characters: number;
  readonly lineLength: number;
}

/** Maximum length of an account with its title, in characters. */
const longestAccount = 'account '.length + 24;

/**
 * Makes the question for a person. Its first lines hold the change, the risk and the places, and are short enough for every client. The
 * other lines hold everything that would be sent. Long values are truncated, and no lines are dropped. If it is too long, long lists are
 * shortened, which a view and a page show in full.
 * @returns undefined if one screen cannot hold the question
 */
export function questionText(plan: Plan, call: PlanInput, limits: QuestionLimits): SafeText | undefined {
  const whole = questionWith(plan, call, limits, Number.POSITIVE_INFINITY);
  if (whole.text.length <= limits.characters) return whole;
  const shortened = questionWith(plan, call, limits, shortList);
  return shortened.text.length <= limits.characters ? shortened : undefined;
}

/** @param longestList longer lists are shortened */
function questionWith(plan: Plan, call: PlanInput, limits: QuestionLimits, longestList: number): SafeText {
  const { change, input } = call;
  const others = otherArguments(change.named, withoutSecrets(call, input), longestList);
  const risks = riskSentencesOf(plan);
  const isRisk = (sentence: SafeText) => risks.some((risk) => risk.equals(sentence));
  const defaults = plan.defaults.map(({ name, value }) => say`${name} ${value}`);
  const firstLines = [...decisionLines(plan, call, limits), whereLine(call, limits)];
  const otherLines = [
    ...inFull(shortHeadline(call, limits)),
    ...(plan.found === undefined ? [] : [plan.found]),
    ...plan.consequences.filter((consequence) => !isRisk(consequence)),
    ...titled('Where', plan.where),
    ...titled('Also', [...others.lists, ...others.fields]),
    ...titled('Defaults', defaults),
    ...plan.warnings,
    ...titled('Not checked', plan.notChecked),
  ];
  const room = limits.lines - firstLines.length;
  if (otherLines.length <= room) return join([...firstLines, ...otherLines], '\n');
  // If there are too many lines, the last lines share one, and nothing is left out.
  const lastLine = join(otherLines.slice(room - 1), ' ');
  return join([...firstLines, ...otherLines.slice(0, room - 1), lastLine], '\n');
}

/** A title with its parts in a sentence. No sentence without parts. */
const titled = <const Title extends string>(title: Wording<Title>, parts: readonly SafeText[]): SafeText[] =>
  parts.length === 0 ? [] : [say`${words(title)}: ${join(parts, ', ')}.`];

/** The change, and its alert with its risks and the other plans. Clients that cut the second line cut the other plans. */
export function decisionLines(plan: Plan, call: PlanInput, limits: QuestionLimits): readonly SafeText[] {
  const headline = say`${shortHeadline(call, limits).line}?`;
  const alert = [alertLine(plan), ...(plan.others ?? [])].filter(({ text }) => text !== '');
  return alert.length === 0 ? [headline] : [headline, join(alert, ' ')];
}

const shortHeadline = ({ change, input, endpoint }: PlanInput, { lineLength }: QuestionLimits) =>
  fitted(change.headline(input, endpoint.region), lineLength - 1);

/** The places that a change goes to, without their origin: `Region jp-east-1, zone east-11, account default.` It always includes the account. */
function whereLine(call: PlanInput, { lineLength }: QuestionLimits): SafeText {
  const account = cut(accountText(call), longestAccount);
  const places = placesOf(call).map(({ name }) => shortNames(name, longestLabelName));
  const room = lineLength - account.text.length - ', .'.length;
  while (places.length > 1 && join(places, ', ').text.length > room) places.pop();
  return say`${sentence(join([fitted(join(places, ', '), room).line, account], ', '))}.`;
}
