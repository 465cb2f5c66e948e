import { toolListSchema } from '../mcp/tool-schemas.js';
import { changeToolNames } from '../mcp/tools-of-changes.js';
import { serviceToolNames } from '../mcp/tools-of-services.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import { type HostRules, loadOperations, type OwnOperations } from '../models/load-operations.js';
import { findModels } from '../models/service-sources.js';

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

/** Adds the services of a folder, as CLOUDOPS_MODELS names it. Services of files come first, because they have settings. */
export async function loadModelFolder(folder: string, loaded: OwnOperations): Promise<OwnOperations> {
  const { services, problems } = await findModels(folder);
  return {
    ...loaded,
    services: new Map([...services, ...(loaded.services ?? [])]),
    problems: [...loaded.problems, ...problems],
  };
}
