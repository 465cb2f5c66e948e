import type { Plan } from '../calls/outcome.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import {
  cut,
  duration,
  fitted,
  inFull,
  join,
  longestLabelName,
  type SafeText,
  say,
  sentence,
  shortNames,
  type Wording,
  withoutDetails,
  withTimes,
  words,
} from '../util/safe-text.js';
import { otherArguments } from './other-arguments.js';
import { accountText, cautionsOf, consequencesOf, destinationsOf } from './plan.js';

/** The size of a question that every client shows whole. */
export interface QuestionLimits {
  readonly lines: number;
  readonly characters: number;
  /** In characters. */
  readonly lineLength: number;
}

/** Not infinite, because JSON has no infinite numbers. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** In characters. */
const longestAccount = 'account '.length + 24;

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
  const firstLines = decisionLines(plan, call, limits);
  // Not `plan.also`, which is shortened.
  const also = otherArguments(call.change.named, call.shownInput, unlimited);
  const defaults = plan.defaults.map(({ name, value }) => say`${name} ${value}`);

  // Lines about the request show all names and values in full.
  const laterLines = [
    ...withUncutNames(inFull(shortHeadline(call, limits))),
    ...(plan.found === undefined ? [] : [plan.found]),
    ...withUncutNames(consequencesOf(plan)),
    ...withUncutNames(titled('Where', fitsLine(plan, limits) ? [] : plan.where)),
    ...withUncutNames(titled('Also', [...also.lists, ...also.fields])),
    ...titled('Defaults', defaults),
    ...plan.warnings,
    ...titled('Not checked', plan.notChecked),
  ];

  const linesLeft = limits.lines - firstLines.length;
  const question = withAges(join([...firstLines, ...joinOverflow(laterLines, linesLeft)], '\n'), now);
  return question.text.length <= limits.characters ? question : undefined;
}

/** The question about a plan that is shown beside it. */
export const shortQuestion = (plan: Plan, call: ResolvedChange, limits: QuestionLimits, now: Date): SafeText =>
  withAges(join(decisionLines(plan, call, limits), '\n'), now);

const withAges = (text: SafeText, now: Date): SafeText =>
  withTimes(text, (time) => {
    const seconds = (now.getTime() - time) / 1000;
    return seconds < 0 ? say`in ${duration(-seconds)}` : say`${duration(seconds)} ago`;
  });

/** Joins the last lines, so that nothing is left out. */
const joinOverflow = (lines: readonly SafeText[], most: number): readonly SafeText[] =>
  lines.length <= most ? lines : [...lines.slice(0, most - 1), join(lines.slice(most - 1), ' ')];

const withUncutNames = (texts: readonly SafeText[]): SafeText[] => texts.map((text) => shortNames(text, unlimited));

const titled = <const Title extends string>(title: Wording<Title>, values: readonly SafeText[]): SafeText[] =>
  values.length === 0 ? [] : [say`${words(title)}: ${join(values, ', ')}.`];

function decisionLines(plan: Plan, call: ResolvedChange, limits: QuestionLimits): readonly SafeText[] {
  const headline = say`${shortHeadline(call, limits).line}?`;
  const cautions = cautionsOf(plan);
  // The later line `Where` then has the sources of the values.
  const destination = fitsLine(plan, limits) ? whereOf(plan) : whereLine(call, limits);
  return [headline, ...(cautions.length === 0 ? [] : [join(cautions, ' ')]), destination];
}

const fitsLine = (plan: Plan, { lineLength }: QuestionLimits): boolean => whereOf(plan).text.length <= lineLength;
const whereOf = ({ where }: Plan): SafeText => say`${sentence(join(where, ', '))}.`;

const shortHeadline = ({ change, input, endpoint }: ResolvedChange, { lineLength }: QuestionLimits) =>
  fitted(change.headline(input, endpoint.region), lineLength - 1);

/** Leaves out sources, and then zones. */
function whereLine(call: ResolvedChange, { lineLength }: QuestionLimits): SafeText {
  const account = cut(accountText(call), longestAccount);
  const destinations = destinationsOf(call).map((place) => shortNames(withoutDetails(place), longestLabelName));
  const charactersLeft = lineLength - account.text.length - ', .'.length;

  // The most important destination comes first.
  while (destinations.length > 1 && join(destinations, ', ').text.length > charactersLeft) destinations.pop();
  const shownDestinations = fitted(join(destinations, ', '), charactersLeft).line;
  return say`${sentence(join([shownDestinations, account], ', '))}.`;
}
