import { textAt } from './objects.js';
import { escapeJson } from './quote.js';
import { own, quoted, type SafeText, say, words } from './safe-text.js';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LogEvent =
  | 'answer'
  | 'attempt'
  | 'call'
  | 'change'
  | 'configuration'
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
  | 'models'
  | 'page'
  | 'refused'
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

/**
 * Never pass secrets or arguments, except targets of changes and, at `debug`, path and query.
 * @param fields may come from outside: quote them where they are shown
 */
export type Log = (
  level: LogLevel,
  event: LogEvent,
  fields?: { readonly message?: SafeText; readonly time?: never; readonly [name: string]: unknown },
) => void;

const maximumText = 16_384;

/** Escapes invisible characters, so that they cannot mislead people at a terminal. */
export function createLog(minimum: LogLevel, now: () => Date, write: (line: string) => void): Log {
  return (level, event, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    const line = JSON.stringify({ time: now().toISOString(), level, event, ...fields }, (_key, value: unknown) =>
      typeof value === 'string' && value.length > maximumText ? `${value.slice(0, maximumText)}…` : value,
    );
    write(`${escapeJson(line)}\n`);
  };
}

/** Messages of database errors may quote data, but such errors have codes, which come first. */
export const reasonOf = (error: unknown): string =>
  textAt(error, 'code') ?? (error instanceof Error ? error.message : 'unknown error');

/** Leaves out the message, which may contain secrets. */
export const errorName = (error: unknown): string => (error instanceof Error ? error.name : 'not an error');

/** Leaves out the message, which may contain secrets. */
export function crashFacts(error: unknown) {
  const { stack = '' } = error instanceof Error ? error : {};
  return { error: errorName(error), stack: stack.split('\n').filter((line) => line.startsWith('    at ')) };
}

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

/** `ENOENT: there is no such file`. */
export function fileFault(error: unknown): SafeText {
  const fault = fileFaults[textAt(error, 'code') ?? ''];
  return fault === undefined ? shownReason(error) : say`${shownReason(error)}: ${fault}`;
}

/** Quotes any message but a `ShownError`'s. */
export function shownReason(error: unknown): SafeText {
  if (error instanceof ShownError) return error.shown;
  const reason = reasonOf(error);
  return /^\w+$/.test(reason) ? own(reason) : quoted(reason, 500);
}
