/** Severities, least first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Writes one event. Fields hold no secret and no argument, except that at level debug the signed texts name the path and
 * query of a request.
 */
export type Log = (level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>) => void;

/** A log of JSON lines, for stderr: stdout belongs to the protocol. */
export function createLog(minimum: LogLevel, now: () => Date, write: (line: string) => void): Log {
  return (level, event, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    write(`${JSON.stringify({ time: now().toISOString(), level, event, ...fields })}\n`);
  };
}
