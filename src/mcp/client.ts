import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { isObject, lazy, valueAt } from '../util/objects.js';
import { appsExtension, viewMimeType } from './views/contract/apps.js';

/** An MCP client as it describes itself. */
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
  const extensions = valueAt(capabilities, 'extensions');
  return {
    ...describeClient(capabilities, fields[CLIENT_INFO_META_KEY]),
    tasks: isObject(extensions) && isObject(extensions[tasksExtension]),
  };
}

/** Reads what a client declares. Malformed parts count as absent. */
export function describeClient(capabilities: unknown, information: unknown): Client {
  const { elicitation, extensions } = declarationSchemas().capabilities.parse(capabilities ?? {});
  const { name, version } = declarationSchemas().information.parse(information ?? {});
  return {
    name: `${name} ${version}`.trim().slice(0, 100),
    // In the protocol, elicitation without a mode means the form mode.
    form: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    url: elicitation?.url !== undefined,
    views: extensions?.[appsExtension]?.mimeTypes.includes(viewMimeType) ?? false,
  };
}

const declarationSchemas = lazy(() => ({
  capabilities: z
    .object({
      elicitation: z.object({ form: z.unknown().optional(), url: z.unknown().optional() }).optional().catch(undefined),
      extensions: z
        .object({ [appsExtension]: z.object({ mimeTypes: z.array(z.string()) }).optional() })
        .optional()
        .catch(undefined),
    })
    .catch({}),
  information: z
    .object({ name: z.string().catch('unknown'), version: z.string().catch('') })
    .catch({ name: 'unknown', version: '' }),
}));
