import type { Plan } from '../calls/outcome.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
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
import { otherArguments } from './other-arguments.js';
import { accountText, alertLine, destinationsOf, riskSentencesOf } from './plan.js';

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
export function questionText(plan: Plan, call: ResolvedChange, limits: QuestionLimits): SafeText | undefined {
  const destination = say`${sentence(join(plan.where, ', '))}.`;
  const fitsLine = destination.text.length <= limits.lineLength;
  // A destination that is too long for a line leaves out the sources of its values, such as `given`. The later line `Where` has them.
  const destinationLine = fitsLine ? destination : whereLine(call, limits);
  // Two or three lines: the headline, the cautions (the alert, the risks and other plans) if there are any, and the destination.
  const firstLines = [...decisionLines(plan, call, limits), destinationLine];

  // The cautions have these sentences already, so they are left out of the consequences.
  const risks = riskSentencesOf(plan);
  const isRisk = (consequence: SafeText) => risks.some((risk) => risk.equals(consequence));
  // Not `plan.also`, in which long values and lists are shortened.
  const also = otherArguments(call.change.named, call.shownInput, unlimited);
  const defaults = plan.defaults.map(({ name, value }) => say`${name} ${value}`);

  // Lines about the request itself show all names and values in full (`withUncutNames`).
  const laterLines = [
    // The line `In full: …`, if the headline omits something.
    ...withUncutNames(inFull(shortHeadline(call, limits))),
    ...(plan.found === undefined ? [] : [plan.found]),
    ...withUncutNames(plan.consequences.filter((consequence) => !isRisk(consequence))),
    ...withUncutNames(titled('Where', fitsLine ? [] : plan.where)),
    ...withUncutNames(titled('Also', [...also.lists, ...also.fields])),
    ...titled('Defaults', defaults),
    ...plan.warnings,
    ...titled('Not checked', plan.notChecked),
  ];

  // One or more, because `limits.lines` is greater than three.
  const linesLeft = limits.lines - firstLines.length;
  const question = join([...firstLines, ...joinOverflow(laterLines, linesLeft)], '\n');
  return question.text.length <= limits.characters ? question : undefined;
}

/** Joins the lines from number `most` on to one last line, so that there are at most `most` lines, and nothing is left out. */
const joinOverflow = (lines: readonly SafeText[], most: number): readonly SafeText[] =>
  lines.length <= most ? lines : [...lines.slice(0, most - 1), join(lines.slice(most - 1), ' ')];

/** Shows the values and names in texts in full, even if the texts would cut them. */
const withUncutNames = (texts: readonly SafeText[]): SafeText[] => texts.map((text) => shortNames(text, unlimited));

/** A sentence of a title and its values, such as `Defaults: size 10, zone "a".` Empty without values. */
const titled = <const Title extends string>(title: Wording<Title>, values: readonly SafeText[]): SafeText[] =>
  values.length === 0 ? [] : [say`${words(title)}: ${join(values, ', ')}.`];

/** The first lines: the change, its alert and risks, and other plans for the same thing. These come last, because a client may cut the end. */
export function decisionLines(plan: Plan, call: ResolvedChange, limits: QuestionLimits): readonly SafeText[] {
  const headline = say`${shortHeadline(call, limits).line}?`;
  const cautions = [alertLine(plan), ...(plan.others ?? [])].filter(({ text }) => text !== '');
  return cautions.length === 0 ? [headline] : [headline, join(cautions, ' ')];
}

const shortHeadline = ({ change, input, endpoint }: ResolvedChange, { lineLength }: QuestionLimits) =>
  fitted(change.headline(input, endpoint.region), lineLength - 1);

/** The destination without the sources of its values: `Region jp-east-1, zone east-11, account default.` A long line leaves out zones first. */
function whereLine(call: ResolvedChange, { lineLength }: QuestionLimits): SafeText {
  const account = cut(accountText(call), longestAccount);
  const destinations = destinationsOf(call).map(({ name }) => shortNames(name, longestLabelName));
  const charactersLeft = lineLength - account.text.length - ', .'.length;

  // The most important destination comes first, so the last is dropped.
  while (destinations.length > 1 && join(destinations, ', ').text.length > charactersLeft) destinations.pop();
  const shownDestinations = fitted(join(destinations, ', '), charactersLeft).line;
  return say`${sentence(join([shownDestinations, account], ', '))}.`;
}
