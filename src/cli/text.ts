import { styleText } from 'node:util';
import type { Terminal } from './command.js';

type Format = Parameters<typeof styleText>[0];

/** Colours for people: on a terminal, and not where NO_COLOR is set. */
export const painter =
  ({ isTty, env }: Pick<Terminal, 'isTty' | 'env'>) =>
  (format: Format, text: string): string =>
    isTty && !env.NO_COLOR ? styleText(format, text) : text;

/** `██████░░░░` for a share from 0 to 1. */
export function bar(share: number, width = 30): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}
