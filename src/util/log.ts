import { textAt } from './objects.js';
import { escapeUnits, everyInvisible } from './quote.js';
import { own, quoted, type SafeText, say, words } from './safe-text.js';

/** Severities, least first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The subject of a line of the log. */
export type LogEvent =
  | 'answer'
  | 'attempt'
  | 'call'
  | 'clock'
  | 'connection'
  | 'consent'
  | 'crash'
  | 'decision needed'
  | 'decision'
  | 'http'
  | 'insecure TLS'
  | 'issuer'
  | 'journal'
  | 'keys'
  | 'listening'
  | 'login failed'
  | 'page'
  | 'refused'
  | 'replies'
  | 'sandbox'
  | 'sign-in refused'
  | 'sign-in'
  | 'signed'
  | 'start'
  | 'state key'
  | 'stop'
  | 'telemetry'
  | 'tokens file'
  | 'unavailable'
  | 'unexpected'
  | 'unresolved'
  | 'webhook';

/** Facts about an event, and a sentence for people. Every place that shows the facts quotes them. */
interface LogFields {
  readonly message?: SafeText;
  readonly [name: string]: unknown;
}

/**
 * Writes one event. Its fields hold neither secrets nor arguments of calls. The exception is the level debug, at which the texts that are
 * signed contain path and query of a request.
 */
export type Log = (level: LogLevel, event: LogEvent, fields?: LogFields) => void;

/** Length limit of a text in the log, because callers choose their names (characters). */
const maximumText = 16_384;

/**
 * Creates a log of JSON lines for stderr, because stdout belongs to the protocol. Characters that are invisible or change the reading
 * order are escaped, so that a terminal shows the line as it is.
 */
export function createLog(minimum: LogLevel, now: () => Date, write: (line: string) => void): Log {
  return (level, event, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    const line = JSON.stringify({ time: now().toISOString(), level, event, ...fields }, cutLongText);
    write(`${escapeJson(line)}\n`);
  };
}

/** Escapes the characters of a line of JSON that are invisible or change the reading order. The value of the JSON stays the same. */
export const escapeJson = (json: string): string =>
  printableAscii.test(json) ? json : json.replace(everyInvisible, escapeUnits);

/** Matches most lines, and much faster than the search for invisible characters. */
const printableAscii = /^[ -~]*$/;

/** A JSON replacer that cuts long texts. */
const cutLongText = (_key: string, value: unknown) =>
  typeof value === 'string' && value.length > maximumText ? `${value.slice(0, maximumText)}…` : value;

/**
 * Returns the reason of a failure for logs and messages, which is the code of an error, such as `ENOENT`, or else its message. Errors
 * of a database have codes, so their messages, which may quote anything, are not used.
 */
export const reasonOf = (error: unknown): string =>
  textAt(error, 'code') ?? (error instanceof Error ? error.message : 'unknown error');

/** Returns the name of an unexpected error for logs. Its message may quote anything. */
export const errorName = (error: unknown): string => (error instanceof Error ? error.name : 'not an error');

/** Facts of an uncaught error for logs: its name and the places in its stack. Its message may quote anything. */
export function crashFacts(error: unknown): { readonly error: string; readonly stack: readonly string[] } {
  const { stack = '' } = error instanceof Error ? error : {};
  return { error: errorName(error), stack: stack.split('\n').filter((line) => line.startsWith('    at ')) };
}

/** An error whose message is made of our own words, with everything from outside quoted. */
export class ShownError extends Error {
  readonly shown: SafeText;
  constructor(shown: SafeText) {
    super(shown.text);
    this.shown = shown;
  }
}

const fileFaults: Readonly<Record<string, SafeText>> = {
  ENOENT: words('there is no such file'),
  ENOTDIR: words('a part of its path is a file'),
  EISDIR: words('it is a folder'),
  EACCES: words('the user that cloudops-mcp runs as may not read it'),
  EPERM: words('the user that cloudops-mcp runs as may not read it'),
};

/** Returns the reason why a file cannot be read, for people: `ENOENT: there is no such file`. */
export function fileFault(error: unknown): SafeText {
  const fault = fileFaults[textAt(error, 'code') ?? ''];
  return fault === undefined ? shownReason(error) : say`${shownReason(error)}: ${fault}`;
}

/** Returns the reason of a failure for people. A message that is not our own is quoted. */
export function shownReason(error: unknown): SafeText {
  if (error instanceof ShownError) return error.shown;
  const reason = reasonOf(error);
  return /^\w+$/.test(reason) ? own(reason) : quoted(reason, 500);
}
