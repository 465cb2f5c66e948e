import { styleText } from 'node:util';
import type { Plan } from '../calls/outcome.js';
import { planDetails } from '../changes/plan.js';
import { linesOf, type SafeText, withTimes, words } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { columnsOf, localTimeIn, wrapped } from './layout.js';

/** The plan of a change and the question about it, as a person at a terminal reads them. */

/** The lines of a plan, for display above its question. */
export const planForQuestion = (plan: Plan, terminal: Terminal): string[] => [
  ...planDetails(plan).flatMap((line) => detailLines(line, terminal)),
  '',
];

/** A line such as `What will happen:` is a heading and becomes bold. */
function detailLines(line: SafeText, terminal: Terminal): string[] {
  if (/^[A-Z][^.]*:$/.test(line.text)) return [paint('bold', line.text, terminal)];
  return paragraph(line, terminal, line.text.startsWith('- ') ? 2 : 0);
}

/** The lines of a question, below its plan, so that a small screen still shows them. */
export function questionLines(question: SafeText, terminal: Terminal): string[] {
  const lines = linesOf(question);
  return lines.flatMap((line, index) => {
    const isCaution = index > 0 && index < lines.length - 1;
    return paragraph(line, terminal).map((text) => paint(isCaution ? ['bold', 'red'] : 'bold', text, terminal));
  });
}

const paint = (format: Parameters<typeof styleText>[0], text: string, { stderr, env }: Terminal) =>
  stderr.isTTY && !env.NO_COLOR ? styleText(format, text, { validateStream: false }) : text;

function paragraph(text: SafeText, { stderr, timeZone }: Terminal, indent = 0): string[] {
  const formatTime = localTimeIn(timeZone);
  const shown = withTimes(text, (time) => formatTime(time) ?? words(''));
  return wrapped(shown, columnsOf(stderr), { start: 0, indent });
}
