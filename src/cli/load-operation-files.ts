import { Console } from 'node:console';
import { setImmediate } from 'node:timers/promises';
import { schemaProblems, toolListSchema, toolSchemas } from '../mcp/tool-schemas.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import type { HostRules } from '../operations/check-definition.js';
import { loadOperations, type OwnOperations } from '../operations/load-operations.js';
import { textAt } from '../util/objects.js';
import { quoted, type SafeText, say } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { printLine } from './layout.js';

export const hostRules: HostRules = {
  toolSchemas,
  inputSchema: toolListSchema,
  schemaProblems,
  reservedNames: [decideTool],
};

/** Loads the operations of CLOUDOPS_OPERATIONS. If a timer or promise of their files fails, none are loaded, and the error is a problem. */
export async function loadOperationFiles(path: string, terminal: Pick<Terminal, 'stderr'>): Promise<OwnOperations> {
  const { result, uncaughtErrors } = await withContainedFiles(terminal, () => loadOperations(path, hostRules));
  if (uncaughtErrors.length === 0) return result;
  const problems = uncaughtErrors.map((error) => say`CLOUDOPS_OPERATIONS: ${error}.`);
  return { operations: [], problems: [...result.problems, ...problems] };
}

interface Contained<Result> {
  readonly result: Result;
  /** Errors in timers and promises of the files that nothing caught, one sentence each. */
  readonly uncaughtErrors: readonly SafeText[];
}

/**
 * Runs `work`, which calls code of outside files. During the work, an error that nothing catches does not end the process, and a call of
 * `process.exit` ends it with exit code 2. From now on, `console` prints to stderr, because stdout is for the protocol or the answer.
 */
export async function withContainedFiles<Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  work: () => Promise<Result>,
): Promise<Contained<Result>> {
  const uncaughtErrors: SafeText[] = [];
  const onError = (error: unknown) => {
    const reason = textAt(error, 'message') ?? 'no error was given';
    uncaughtErrors.push(say`an error in a timer or a promise, which nothing caught: ${quoted(reason, 300)}`);
  };
  const onExit = () => {
    printLine(stderr, say`A file of operations ended the process.`);
    process.exitCode = 2;
  };
  globalThis.console = new Console(stderr, stderr);
  process.on('uncaughtException', onError);
  process.on('exit', onExit);
  try {
    const result = await work();
    // Waits, because Node reports an unhandled rejection only after the callbacks of all other promises.
    await setImmediate();
    return { result, uncaughtErrors };
  } finally {
    process.off('uncaughtException', onError);
    process.off('exit', onExit);
  }
}
