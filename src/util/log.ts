import { textAt } from './objects.js';
import { everyInvisible } from './quote.js';

/** Severities, least first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Writes one event. Fields hold no secret and no argument, except that at level debug the signed texts name the path and
 * query of a request.
 */
export type Log = (level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Characters of a text that are logged at most: names of callers may come from anybody. */
const maximumText = 16_384;

/**
 * A log of JSON lines, for stderr: stdout belongs to the protocol. What is invisible or changes the reading order is
 * escaped, so that a line is what it looks like in a terminal.
 */
export function createLog(minimum: LogLevel, now: () => Date, write: (line: string) => void): Log {
  return (level, event, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    const line = JSON.stringify({ time: now().toISOString(), level, event, ...fields }, bounded);
    write(`${escapeInvisible(line)}\n`);
  };
}

/** JSON on one line in which what is invisible or changes the reading order is escaped. */
export const escapeInvisible = (json: string): string => json.replace(everyInvisible, escaped);

const bounded = (_key: string, value: unknown) =>
  typeof value === 'string' && value.length > maximumText ? `${value.slice(0, maximumText)}…` : value;

/** As JSON writes it: in UTF-16. */
const escaped = (character: string) =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/**
 * Why something failed, for logs and messages: the code of a system error, such as `ENOENT`, or of an error without a code its
 * message. A database server's message may quote anything: its errors have codes.
 */
export const reasonOf = (error: unknown): string =>
  textAt(error, 'code') ?? (error instanceof Error ? error.message : 'unknown error');
