import { toolListSchema } from '../mcp/tool-schemas.js';
import { changeToolNames } from '../mcp/tools-of-changes.js';
import { serviceToolNames } from '../mcp/tools-of-services.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import { type HostRules, loadOperations, type OwnOperations } from '../models/load-operations.js';

export const hostRules = (listsSecretNames: boolean): HostRules => ({
  inputSchema: toolListSchema,
  reservedNames: [decideTool, ...changeToolNames, ...serviceToolNames],
  listsSecretNames,
});

/**
 * Loads the operations of a file or folder, as CLOUDOPS_OPERATIONS names it.
 * @param listsSecretNames true if this server has a folder of secrets
 */
export const loadOperationFiles = (path: string, listsSecretNames = false): Promise<OwnOperations> =>
  loadOperations(path, hostRules(listsSecretNames));
