import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isObject, textAt, valueAt } from '../util/objects.js';
import { appsExtension, viewMimeType } from './views/view-contract.js';

export interface Client {
  /** Name and version. */
  readonly name: string;
  /** Elicitation in form mode. */
  readonly form: boolean;
  /** Elicitation in URL mode. */
  readonly url: boolean;
  /** MCP Apps. */
  readonly views: boolean;
  /** Tasks, which only requests since 2026-07-28 declare. */
  readonly tasks?: boolean;
}

export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Returns the client of a request. Before protocol 2026-07-28, the connection or session declares the client. */
export function clientOf(server: Server, { mcpReq: { envelope } }: ServerContext, session: Client | undefined): Client {
  if (envelope === undefined)
    return session ?? describeClient(server.getClientCapabilities(), server.getClientVersion());
  const fields: Readonly<Record<string, unknown>> = { ...envelope };
  const capabilities = fields[CLIENT_CAPABILITIES_META_KEY];
  const tasks = isObject(extensionOf(capabilities, tasksExtension));
  return { ...describeClient(capabilities, fields[CLIENT_INFO_META_KEY]), tasks };
}

/** Reads what a client declares. Malformed parts count as absent. */
export function describeClient(capabilities: unknown, information: unknown): Client {
  const elicitation = valueAt(capabilities, 'elicitation');
  const { form, url } = isObject(elicitation) ? elicitation : { form: undefined, url: undefined };
  const viewTypes = valueAt(extensionOf(capabilities, appsExtension), 'mimeTypes');
  return {
    name: `${textAt(information, 'name') ?? 'unknown'} ${textAt(information, 'version') ?? ''}`.trim().slice(0, 100),
    // In the protocol, elicitation without a mode means the form mode.
    form: isObject(elicitation) && (form !== undefined || url === undefined),
    url: url !== undefined,
    views: Array.isArray(viewTypes) && viewTypes.includes(viewMimeType),
  };
}

function extensionOf(capabilities: unknown, name: string): unknown {
  const extensions = valueAt(capabilities, 'extensions');
  return isObject(extensions) ? extensions[name] : undefined;
}
