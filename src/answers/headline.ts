/** The characters of a line that a client shows for sure, and of a quoted name in it. */
const longestHeadline = 100;
const longestName = 24;

/** Quoted text as `quote` makes it. */
const quoted = /"((?:[^"\\]|\\.)*)"/g;
/** Up to a full stop, and up to a colon, of our own: not within quotation marks. */
const sentence = /^(?:"(?:[^"\\]|\\.)*"|[^".]|\.(?! |$))+\.(?= |$)/;
/** The last words in brackets. */
const remark = / \([^()]*\)(?=\.$)/;
const clause = /^(?:"(?:[^"\\]|\\.)*"|[^":]|:(?! ))+(?=: )/;

/** A text in which no quoted name has more than 24 characters. */
export const withShortNames = (text: string): string =>
  text.replace(quoted, (whole, name: string) => ([...name].length <= longestName ? whole : shortened(name)));

/** The beginning of a summary that fits into one short line: its first sentence, with long names cut, or less of that. */
export function headlineOf(summary: string): string {
  const short = withShortNames(summary);
  const whole = sentence.exec(short)?.[0] ?? short;
  if (whole.length <= longestHeadline) return whole;
  const first = whole.replace(remark, '');
  if (first.length <= longestHeadline) return first;
  const beginning = clause.exec(first)?.[0];
  if (beginning !== undefined && beginning.length < longestHeadline) return `${beginning}.`;
  return `${first.slice(0, longestHeadline - 1)}…`;
}

/** An escape is not cut in two. */
const shortened = (name: string) => `"${/^(?:[^\\]|\\u\{[0-9a-f]+\}|\\.){0,23}/u.exec(name)?.[0] ?? ''}…"`;
