import { hostRules } from '../../src/cli/load-operation-files.js';
import { loadOperations, type OwnOperations } from '../../src/operations/load-operations.js';

/** Loads files of operations in a test. The first of a model makes Vite compile the code of models, which takes seconds on a busy machine. */
export const loadPatiently = (path: string): Promise<OwnOperations> =>
  loadOperations(path, hostRules, { timeLimitMs: 60_000 });
