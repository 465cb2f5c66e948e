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

/** The size that a question may have, so that every client shows it whole. */
export interface QuestionLimits {
  readonly lines: number;
  readonly characters: number;
  /** Length of a line that no client cuts (characters). The lines of the change and of its destination keep to it. */
  readonly lineLength: number;
}

/** A limit that cuts nothing. Not infinite, because the question is stored as JSON, which has no infinite numbers. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** Maximum length of an account with the word `account` before it, in characters. */
const longestAccount = 'account '.length + 24;

/**
 * Makes the question for a person, in at most `limits.lines` lines. Its first lines hold the change, its risks and its destination, and are
 * short enough for every client. The other lines hold everything that would be sent, with all entries of lists and with whole values.
 * @returns undefined if the question is longer than `limits.characters`
 */
export function questionText(
  plan: Plan,
  call: ResolvedChange,
  limits: QuestionLimits,
  now: Date,
): SafeText | undefined {
  const firstLines = decisionLines(plan, call, limits);
  // Not `plan.also`, in which long values and lists are shortened.
  const also = otherArguments(call.change.named, call.shownInput, unlimited);
  const defaults = plan.defaults.map(({ name, value }) => say`${name} ${value}`);

  // Lines about the request itself show all names and values in full (`withUncutNames`).
  const laterLines = [
    // The line `In full: …`, if the headline omits something.
    ...withUncutNames(inFull(shortHeadline(call, limits))),
    ...(plan.found === undefined ? [] : [plan.found]),
    ...withUncutNames(consequencesOf(plan)),
    ...withUncutNames(titled('Where', fitsLine(plan, limits) ? [] : plan.where)),
    ...withUncutNames(titled('Also', [...also.lists, ...also.fields])),
    ...titled('Defaults', defaults),
    ...plan.warnings,
    ...titled('Not checked', plan.notChecked),
  ];

  // One or more, because `limits.lines` is greater than three.
  const linesLeft = limits.lines - firstLines.length;
  const question = withAges(join([...firstLines, ...joinOverflow(laterLines, linesLeft)], '\n'), now);
  return question.text.length <= limits.characters ? question : undefined;
}

/** The question about a plan that is shown in whole beside it: its first lines. */
export const shortQuestion = (plan: Plan, call: ResolvedChange, limits: QuestionLimits, now: Date): SafeText =>
  withAges(join(decisionLines(plan, call, limits), '\n'), now);

/** Writes times as people read them in a question: `24 s ago`. */
const withAges = (text: SafeText, now: Date): SafeText =>
  withTimes(text, (time) => {
    const seconds = (now.getTime() - time) / 1000;
    return seconds < 0 ? say`in ${duration(-seconds)}` : say`${duration(seconds)} ago`;
  });

/** Joins the lines from number `most` on to one last line, so that there are at most `most` lines, and nothing is left out. */
const joinOverflow = (lines: readonly SafeText[], most: number): readonly SafeText[] =>
  lines.length <= most ? lines : [...lines.slice(0, most - 1), join(lines.slice(most - 1), ' ')];

/** Shows the values and names in texts in full, even if the texts would cut them. */
const withUncutNames = (texts: readonly SafeText[]): SafeText[] => texts.map((text) => shortNames(text, unlimited));

/** A sentence of a title and its values, such as `Defaults: size 10, zone "a".` Empty without values. */
const titled = <const Title extends string>(title: Wording<Title>, values: readonly SafeText[]): SafeText[] =>
  values.length === 0 ? [] : [say`${words(title)}: ${join(values, ', ')}.`];

/** The first two or three lines: the change, its cautions if there are any, and its destination. */
function decisionLines(plan: Plan, call: ResolvedChange, limits: QuestionLimits): readonly SafeText[] {
  const headline = say`${shortHeadline(call, limits).line}?`;
  const cautions = cautionsOf(plan);
  // A destination that is too long for a line leaves out the sources of its values, such as `given`. The later line `Where` has them.
  const destination = fitsLine(plan, limits) ? whereOf(plan) : whereLine(call, limits);
  return [headline, ...(cautions.length === 0 ? [] : [join(cautions, ' ')]), destination];
}

const fitsLine = (plan: Plan, { lineLength }: QuestionLimits): boolean => whereOf(plan).text.length <= lineLength;
const whereOf = ({ where }: Plan): SafeText => say`${sentence(join(where, ', '))}.`;

const shortHeadline = ({ change, input, endpoint }: ResolvedChange, { lineLength }: QuestionLimits) =>
  fitted(change.headline(input, endpoint.region), lineLength - 1);

/** The destination without the sources of its values: `Region jp-east-1, zone east-11, account default.` A long line leaves out zones first. */
function whereLine(call: ResolvedChange, { lineLength }: QuestionLimits): SafeText {
  const account = cut(accountText(call), longestAccount);
  const destinations = destinationsOf(call).map((place) => shortNames(withoutDetails(place), longestLabelName));
  const charactersLeft = lineLength - account.text.length - ', .'.length;

  // The most important destination comes first, so the last is dropped.
  while (destinations.length > 1 && join(destinations, ', ').text.length > charactersLeft) destinations.pop();
  const shownDestinations = fitted(join(destinations, ', '), charactersLeft).line;
  return say`${sentence(join([shownDestinations, account], ', '))}.`;
}
