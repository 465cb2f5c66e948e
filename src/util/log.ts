import { textAt } from './objects.js';
import { escapeJson } from './quote.js';
import { own, quoted, type SafeText, say, words } from './safe-text.js';

/** Severities, from the least to the most severe. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The subject of an entry in the log. */
export type LogEvent =
  | 'answer'
  | 'attempt'
  | 'call'
  | 'change'
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

/** Facts about an event, and a message for people. Facts may come from outside, so code that shows them has to quote them. */
interface LogFields {
  readonly message?: SafeText;
  /** Not allowed, because the field `time` is the time of the log entry. */
  readonly time?: never;
  readonly [name: string]: unknown;
}

/** Writes an event to the log. Never pass secrets or arguments of calls, except targets of changes and, at level `debug`, path and query. */
export type Log = (level: LogLevel, event: LogEvent, fields?: LogFields) => void;

/** Length limit of a text in the log (characters), because texts such as the name of a caller can have any length. */
const maximumText = 16_384;

/**
 * Creates a log that writes each event as a line of JSON, if its level is at least `minimum`. Characters that are invisible or change the
 * reading order are escaped, so that they cannot mislead people who read the log at a terminal.
 */
export function createLog(minimum: LogLevel, now: () => Date, write: (line: string) => void): Log {
  return (level, event, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    const line = JSON.stringify({ time: now().toISOString(), level, event, ...fields }, cutLongText);
    write(`${escapeJson(line)}\n`);
  };
}

/** A replacer for `JSON.stringify` that cuts long texts. */
const cutLongText = (_key: string, value: unknown) =>
  typeof value === 'string' && value.length > maximumText ? `${value.slice(0, maximumText)}…` : value;

/**
 * Returns the reason of a failure for logs and messages, which is the code of an error, such as `ENOENT`, or else its message. The message
 * of a database error may quote data, but is never used, because such errors have codes.
 */
export const reasonOf = (error: unknown): string =>
  textAt(error, 'code') ?? (error instanceof Error ? error.message : 'unknown error');

/** Returns the name of an unexpected error for logs. Its message is left out, because it may contain secrets. */
export const errorName = (error: unknown): string => (error instanceof Error ? error.name : 'not an error');

/** Returns name and stack trace of an uncaught error for logs. The message is left out, because it may contain secrets. */
export function crashFacts(error: unknown): { readonly error: string; readonly stack: readonly string[] } {
  const { stack = '' } = error instanceof Error ? error : {};
  return { error: errorName(error), stack: stack.split('\n').filter((line) => line.startsWith('    at ')) };
}

/** An error whose message is safe text, so that it can be shown to people. */
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

/** Returns the reason of a failure for people. The message of any error but a `ShownError` is quoted. */
export function shownReason(error: unknown): SafeText {
  if (error instanceof ShownError) return error.shown;
  const reason = reasonOf(error);
  return /^\w+$/.test(reason) ? own(reason) : quoted(reason, 500);
}
