/** The plan of a change and the question about it, as a person at a terminal reads them. */
import type { Plan } from '../calls/outcome.js';
import { planDetails } from '../changes/plan.js';
import { linesOf, type SafeText, withTimes, words } from '../util/safe-text.js';
import { type TextLayout, wrapped } from './layout.js';

/** The lines of a plan, for display above its question: broken to the width of the terminal, with times in its time zone. */
export const planForQuestion = (plan: Plan, layout: TextLayout): string[] => [
  ...planDetails(plan).flatMap((line) => detailLines(line, layout)),
  '',
];

/** The lines of one line of a plan's sections. A line such as `What will happen:` is a heading and becomes bold. */
function detailLines(line: SafeText, layout: TextLayout): string[] {
  if (/^[A-Z][^.]*:$/.test(line.text)) return [layout.paint('bold', line.text)];
  return paragraph(line, layout, line.text.startsWith('- ') ? 2 : 0);
}

/** The lines of a question: the change, its cautions and its destination. All come last, so that a small screen still shows them. */
export function questionLines(question: SafeText, layout: TextLayout): string[] {
  const lines = linesOf(question);
  return lines.flatMap((line, index) => {
    const isCaution = index > 0 && index < lines.length - 1;
    return paragraph(line, layout).map((text) => layout.paint(isCaution ? ['bold', 'red'] : 'bold', text));
  });
}

const paragraph = (text: SafeText, { width, localTime }: TextLayout, indent = 0) =>
  wrapped(
    withTimes(text, (time) => localTime(time) ?? words('')),
    width,
    { start: 0, indent },
  );
