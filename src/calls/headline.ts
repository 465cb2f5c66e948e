import {
  cut,
  longestLabelName,
  type SafeText,
  say,
  shortNames,
  textFor,
  upTo,
  withoutDetails,
} from '../util/safe-text.js';

/** Every client shows a line of this length (characters). */
const longestHeadline = 100;

/** Shortens a summary to one line: its first sentence with short names, then without details, then the words before a colon. */
export function headlineOf(summary: SafeText): SafeText {
  const short = shortNames(textFor('agent', summary), longestLabelName);
  const first = upTo(short, '. ');
  const sentence = first === undefined ? short : say`${first}.`;
  if (sentence.text.length <= longestHeadline) return sentence;
  const brief = withoutDetails(sentence);
  if (brief.text.length <= longestHeadline) return brief;
  const opening = upTo(brief, ': ');
  if (opening !== undefined && opening.text.length < longestHeadline) return say`${opening}.`;
  return cut(brief, longestHeadline);
}
