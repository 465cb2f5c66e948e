/** The plan of a change as a person at a terminal reads it before they are asked. */
import type { Plan } from '../calls/outcome.js';
import { planParts } from '../changes/plan.js';
import { type SafeText, say, withTimes, words } from '../util/safe-text.js';
import { type TextLayout, wrapped } from './layout.js';

/**
 * The lines of a plan, for display above the question: broken to the width of the terminal, with times in its time zone. The headline and the
 * cautions come last, so that a small screen still shows them.
 */
export function planForQuestion(plan: Plan, layout: TextLayout): string[] {
  const { headline, cautions, details } = planParts(plan);
  const lists = plan.also?.lists ?? [];
  const listLines = lists.length === 0 ? [] : [words(''), words('Lists:'), ...lists.map((list) => say`- ${list}`)];
  const colour = plan.risks.includes('no way back') ? 'red' : 'yellow';
  return [
    ...[...details, ...listLines].flatMap((line) => detailLines(line, layout)),
    '',
    ...paragraph(headline, layout).map((line) => layout.paint('bold', line)),
    ...cautions.flatMap((caution) => paragraph(caution, layout)).map((line) => layout.paint(['bold', colour], line)),
  ];
}

/** The lines of one line of a plan's sections. A line such as `What will happen:` is a heading and becomes bold. */
function detailLines(line: SafeText, layout: TextLayout): string[] {
  if (/^[A-Z][^.]*:$/.test(line.text)) return [layout.paint('bold', line.text)];
  return paragraph(line, layout, line.text.startsWith('- ') ? 2 : 0);
}

const paragraph = (text: SafeText, { width, localTime }: TextLayout, indent = 0) =>
  wrapped(
    withTimes(text, (time) => localTime(time) ?? words('')),
    width,
    { start: 0, indent },
  );
