import { toolListSchema } from '../mcp/tool-schemas.js';
import { changeToolNames } from '../mcp/tools-of-changes.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import { type HostRules, loadOperations, type OwnOperations } from '../operations/load-operations.js';

const hostRules: HostRules = {
  inputSchema: toolListSchema,
  reservedNames: [decideTool, ...changeToolNames],
};

/** Loads the operations of a file or folder, as CLOUDOPS_OPERATIONS names it. */
export const loadOperationFiles = (path: string): Promise<OwnOperations> => loadOperations(path, hostRules);
