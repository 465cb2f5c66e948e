import { Console } from 'node:console';
import { textAt } from '../util/objects.js';
import { quoted, type Shown, said, say } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { isForeign } from './is-third-party-error.js';
import { printLine } from './layout.js';

/** Stray errors of files that are being checked. */
interface Contained {
  /** Errors that nothing of theirs caught, one sentence each. */
  readonly problems: readonly Shown[];
  /** To be called when they have been looked at: from then on, errors are only told. */
  end(): void;
}

/**
 * Keeps from doing harm what files of operations do beside what they are asked for. What they print goes to stderr, as stdout belongs
 * to the protocol or to an answer; an error in a timer or in a promise that nobody waits for does not end the process; and a process
 * that they end before they have been looked at fails.
 */
export function containFiles({ script, stderr }: Pick<Terminal, 'script' | 'stderr'>): Contained {
  const problems: Shown[] = [];
  let isOver = false;
  globalThis.console = new Console(stderr, stderr);
  const listener = (error: unknown) => {
    // A server has one of its own, which ends changes before the process.
    const isLast = process.listeners('uncaughtException').at(-1) === listener;
    if (isForeign(error, script)) {
      const reason = textAt(error, 'message') ?? 'no error was given';
      const problem = say`an error in a timer or a promise, which nothing caught: ${quoted(reason, 300)}`;
      if (!isOver) problems.push(problem);
      else if (isLast) printLine(stderr, say`warning: of a file of operations, ${said(problem)}`);
    } else if (isLast) {
      stderr.write(`${textAt(error, 'stack')}\n`);
      process.exit(1);
    }
  };
  process.on('uncaughtException', listener);
  process.once('exit', () => {
    if (isOver) return;
    printLine(stderr, say`A file of operations ended the process.`);
    process.exitCode = 2;
  });
  return {
    problems,
    end: () => {
      isOver = true;
    },
  };
}
