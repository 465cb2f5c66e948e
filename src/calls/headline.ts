import { beginning, partOf, type SafeText, say, shortNames, without } from '../util/safe-text.js';

/** The characters of a line that a client shows for sure. */
const longestHeadline = 100;

/** Up to a full stop, and up to a colon, of our own: not within quotation marks. */
const sentence = /^(?:"(?:[^"\\]|\\.)*"|[^".]|\.(?! |$))+\.(?= |$)/;
/** The last words in brackets. */
const remark = / \([^()]*\)(?=\.$)/;
const clause = /^(?:"(?:[^"\\]|\\.)*"|[^":]|:(?! ))+(?=: )/;

/** The beginning of a summary that fits into one short line: its first sentence, with long names cut, or less of that. */
export function headlineOf(summary: SafeText): SafeText {
  const short = shortNames(summary);
  const whole = partOf(short, sentence) ?? short;
  if (whole.text.length <= longestHeadline) return whole;
  const first = without(whole, remark);
  if (first.text.length <= longestHeadline) return first;
  const opening = partOf(first, clause);
  if (opening !== undefined && opening.text.length < longestHeadline) return say`${opening}.`;
  return beginning(first, longestHeadline);
}
