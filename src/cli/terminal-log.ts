import type { Config } from '../config/load-config.js';
import { createLog, type Log } from '../util/log.js';
import { join, own, quoted, say, words } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { printLine, printWrapped } from './layout.js';

/** The log of a server, in JSON. At a terminal without a log level, warnings and errors in sentences. */
export function serverLog(config: Pick<Config, 'origins' | 'values'>, { now, stderr }: Terminal): Log {
  if (stderr.isTTY && !hasLevel(config)) return logForPeople(stderr);
  return createLog(config.values.LOG_LEVEL, now, (line) => stderr.write(line));
}

/** The log of a command. Without a log level, only faults and changes without a known outcome. */
export function commandLog(config: Pick<Config, 'origins' | 'values'>, { now, stderr }: Terminal): Log {
  if (hasLevel(config)) return createLog(config.values.LOG_LEVEL, now, (line) => stderr.write(line));
  const showFault = logForPeople(stderr);
  return (level, event, facts) => {
    if (event === 'unexpected') showFault(level, event, facts);
    if (event === 'unresolved')
      printLine(stderr, 'warning: an earlier change ended without a known outcome; see cloudops-mcp journal.');
  };
}

const hasLevel = ({ origins }: Pick<Config, 'origins'>) => origins.some(({ setting }) => setting === 'LOG_LEVEL');

const logForPeople =
  (stderr: Terminal['stderr']): Log =>
  (level, event, { message, ...fields } = {}) => {
    if (level !== 'warn' && level !== 'error') return;
    const facts = Object.entries(fields).map(([name, value]) => say`${own(name)} ${quoted(String(value), 200)}`);
    const details = message === undefined ? facts : [message, ...facts];
    const eventName = words(event);
    const text = details.length === 0 ? eventName : say`${eventName}: ${join(details, ', ')}`;
    printWrapped(stderr, text, { start: level === 'warn' ? 'warning: ' : 'error: ' });
  };
