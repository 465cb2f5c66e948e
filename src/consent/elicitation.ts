import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  createRequestStateCodec,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ConsentClaims, ConsentTokens, Elicitor, Reply } from './decision.js';

/** The form that a person answers: one box, which is not ticked at first. */
export const consentForm = {
  type: 'object' as const,
  properties: { agree: { type: 'boolean' as const, title: 'Yes, do exactly this', default: false } },
  required: ['agree'],
};

const claimsSchema = z.object({ use: z.enum(['plan', 'question']), digest: z.string(), nonce: z.string() });

/**
 * Signs grants with a key of at least 32 bytes. They are valid for ten minutes, with the key that signed them and for the
 * caller that was given them, where callers have names.
 */
export const consentCodec = (key: Uint8Array | string, caller = '') =>
  createRequestStateCodec<ConsentClaims>({ key, ttlSeconds: 600, bind: () => caller });

/** What consent tokens need of the SDK's codec. */
interface Codec {
  mint(grant: ConsentClaims, context: unknown): Promise<string>;
  verify(token: string, context: unknown): Promise<unknown>;
}

/** Consent tokens of one request: what is signed comes back through the client. Without a client there is no context. */
export const consentTokens = (codec: Codec, context: ServerContext | null): ConsentTokens => ({
  issue: (grant) => codec.mint(grant, context),
  verify: async (token) => claimsSchema.parse(await codec.verify(token, context)),
});

/** People need time. The client may give up earlier. */
const answerMs = 10 * 60 * 1000;

/**
 * The way to the person behind the client, or undefined if the client offers none. Up to 2025-11-25 the question is sent while
 * the call runs, which over HTTP would take a session; from 2026-07-28 on the call ends with it, and the answer comes with the
 * next one.
 */
export function elicitorFor(server: McpServer, context: ServerContext): Elicitor | undefined {
  const { envelope, inputResponses, requestState, elicitInput, signal } = context.mcpReq;
  if (envelope === undefined && context.http !== undefined) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...envelope };
  const declared = fields[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {};
  const { elicitation } = capabilities.parse(declared);
  // An empty declaration means forms.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined)) return undefined;
  if (envelope === undefined)
    return {
      ask: async (message) => {
        try {
          const params = { mode: 'form' as const, message, requestedSchema: consentForm };
          return replyOf(await elicitInput(params, { timeout: answerMs, signal }));
        } catch {
          return 'unanswered';
        }
      },
    };
  const view = inputResponse(inputResponses, 'consent');
  const grant = claimsSchema.safeParse(requestState());
  const ask: Elicitor['ask'] = async () => 'later';
  if (view.kind !== 'elicit' || !grant.success || grant.data.use !== 'question') return { ask };
  return { ask, reply: { grant: grant.data, reply: replyOf(view) } };
}

/** Name and version of the client, as it says; for the journal. */
export function clientName(server: McpServer, context: ServerContext): string {
  const fields: Readonly<Record<string, unknown>> = { ...context.mcpReq.envelope };
  const { name, version } = clientInfo.parse(fields[CLIENT_INFO_META_KEY] ?? server.server.getClientVersion() ?? {});
  return `${name} ${version}`.trim().slice(0, 100);
}

const clientInfo = z
  .object({ name: z.string().catch('unknown'), version: z.string().catch('') })
  .catch({ name: 'unknown', version: '' });

const capabilities = z
  .object({ elicitation: z.object({ form: z.unknown().optional(), url: z.unknown().optional() }).optional() })
  .catch({});

function replyOf({ action, content }: { action: string; content?: unknown }): Reply {
  if (action === 'decline') return 'declined';
  if (action !== 'accept') return 'cancelled';
  return z.object({ agree: z.literal(true) }).safeParse(content).success ? 'agreed' : 'unticked';
}
