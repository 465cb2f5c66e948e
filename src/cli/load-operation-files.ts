import { changeToolNames, clickTool, serviceToolNames } from '../mcp/server-tools.js';
import { toolListSchema } from '../mcp/tool-schemas.js';
import { type HostRules, loadOperations, type OwnOperations } from '../models/load-operations.js';

export const hostRules = (listsSecretNames: boolean): HostRules => ({
  inputSchema: toolListSchema,
  reservedNames: [clickTool.name, ...changeToolNames, ...serviceToolNames],
  listsSecretNames,
});

/**
 * Loads the operations of a file or folder, as CLOUDOPS_OPERATIONS names it.
 * @param listsSecretNames true if this server has a folder of secrets
 */
export const loadOperationFiles = (path: string, listsSecretNames = false): Promise<OwnOperations> =>
  loadOperations(path, hostRules(listsSecretNames));
