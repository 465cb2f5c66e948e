import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { appsExtension, viewMimeType } from './views/contract/apps.js';

/** A client as it declares itself. */
export interface Client {
  /** Its name and version, for the journal. */
  readonly name: string;
  /** True if it shows its user a form. */
  readonly form: boolean;
  /** True if it sends its user to an address. */
  readonly url: boolean;
  /** True if it shows views (MCP Apps). */
  readonly views: boolean;
}

/**
 * The client of a request. From 2026-07-28 on each request says who sends it; before that, the connection or the session does.
 * @param session the client as it declared itself when its session began
 */
export function clientOf(server: Server, { mcpReq: { envelope } }: ServerContext, session: Client | undefined): Client {
  if (envelope === undefined)
    return session ?? describeClient(server.getClientCapabilities(), server.getClientVersion());
  const fields: Readonly<Record<string, unknown>> = { ...envelope };
  return describeClient(fields[CLIENT_CAPABILITIES_META_KEY], fields[CLIENT_INFO_META_KEY]);
}

/** A client by the capabilities and the information that it gave, as far as these can be read. */
export function describeClient(capabilities: unknown, information: unknown): Client {
  const { elicitation, extensions } = declared().capabilities.parse(capabilities ?? {});
  const { name, version } = declared().information.parse(information ?? {});
  return {
    name: `${name} ${version}`.trim().slice(0, 100),
    // An empty declaration means forms.
    form: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    url: elicitation?.url !== undefined,
    views: extensions?.[appsExtension]?.mimeTypes.includes(viewMimeType) ?? false,
  };
}

const declared = lazy(() => ({
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
