import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/** The capabilities that a client declares, as far as they matter here. */
export function clientCapabilities(server: Server, context: ServerContext) {
  const fields: Readonly<Record<string, unknown>> = { ...context.mcpReq.envelope };
  return capabilities.parse(fields[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {});
}

const capabilities = z
  .object({
    elicitation: z.object({ form: z.unknown().optional(), url: z.unknown().optional() }).optional(),
    extensions: z.record(z.string(), z.unknown()).optional(),
  })
  .catch({});

/** Name and version of the client, as it says; for the journal. */
export function clientName(server: Server, context: ServerContext): string {
  const fields: Readonly<Record<string, unknown>> = { ...context.mcpReq.envelope };
  const { name, version } = clientInfo.parse(fields[CLIENT_INFO_META_KEY] ?? server.getClientVersion() ?? {});
  return `${name} ${version}`.trim().slice(0, 100);
}

const clientInfo = z
  .object({ name: z.string().catch('unknown'), version: z.string().catch('') })
  .catch({ name: 'unknown', version: '' });
