import type { Config } from '../config/load.js';
import { createLog, type Log } from '../util/log.js';
import { quote } from '../util/quote.js';
import type { Terminal } from './command.js';
import { columnsOf, wrapped } from './layout.js';

/**
 * The log of a server: lines of JSON for whatever collects them. A person who started it at a terminal, and has set no level, gets
 * sentences instead, and only about what is amiss.
 */
export function serverLog(config: Pick<Config, 'origins' | 'logLevel'>, { now, stderr }: Terminal): Log {
  if (stderr.isTTY && !hasLevel(config)) return logForPeople(stderr);
  return createLog(config.logLevel, now, (line) => stderr.write(line));
}

/** The log of a command whose answer a person reads: nothing, unless they set a level, but changes that were left open. */
export function commandLog(config: Pick<Config, 'origins' | 'logLevel'>, { now, stderr }: Terminal): Log {
  if (hasLevel(config)) return createLog(config.logLevel, now, (line) => stderr.write(line));
  return (_level, event) => {
    if (event === 'unresolved')
      stderr.write('warning: an earlier change ended without a known outcome; see cloudops-mcp journal.\n');
  };
}

const hasLevel = ({ origins }: Pick<Config, 'origins'>) => origins.some(({ name }) => name === 'CLOUDOPS_LOG_LEVEL');

const logForPeople =
  (stderr: Terminal['stderr']): Log =>
  (level, event, { message, ...fields } = {}) => {
    if (level !== 'warn' && level !== 'error') return;
    const facts = Object.entries(fields).map(([name, value]) => `${name} ${quote(String(value), 200)}`);
    const said = message === undefined ? facts : [message, ...facts];
    const kind = level === 'warn' ? 'warning' : 'error';
    const lines = wrapped(`${event}${said.length === 0 ? '' : ': '}${said.join(', ')}`, columnsOf(stderr), `${kind}: `);
    stderr.write(`${lines.join('\n')}\n`);
  };
