import { loadConfig } from '../../src/config/load-config.js';
import type { OwnOperations } from '../../src/models/load-operations.js';

/** The configuration of some variables and files. */
export const load = (env: Record<string, string>, files: Record<string, string> = {}, own?: OwnOperations) =>
  loadConfig({
    env,
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
