import { parseCommandLine } from '../../src/config/command-line.js';
import { loadConfig } from '../../src/config/load-config.js';
import { addedSettings } from '../../src/config/own-operations.js';
import type { OwnOperations } from '../../src/operations/load-operations.js';

/** The configuration of some variables, options and files. */
export const load = (
  env: Record<string, string>,
  args: string[] = [],
  files: Record<string, string> = {},
  own?: OwnOperations,
) =>
  loadConfig({
    env,
    commandLine: parseCommandLine(args, {}, own === undefined ? [] : addedSettings(own)),
    ...(own !== undefined && { ownOperations: own }),
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
  });

/** Returns the problems of a configuration, one sentence each. */
export const problems = (...args: Parameters<typeof load>): readonly string[] => {
  const result = load(...args);
  return result.ok ? [] : result.problems.map(({ text }) => text);
};
