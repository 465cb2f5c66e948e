import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  inputResponse,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ConsentClaims } from '../consent/tokens.js';

/** What a person did with the question. */
export type Reply = 'agreed' | 'declined' | 'notChosen' | 'cancelled' | 'unanswered';

/** The way to the person behind the client. */
export interface Elicitor {
  /** Whether it reaches the person itself, without a client that could answer on its own. */
  readonly isDirect?: true;
  /** The person's reply, or `later` if the client brings it with another entry of the same call. `accept` are the words of a yes. */
  ask(message: string, accept: string): Promise<Reply | 'later'>;
  /** The reply that this entry brings, and the question that it belongs to. */
  readonly brought?: { readonly claims: ConsentClaims; read(accept: string): Reply };
}

/** The answer that changes nothing. It is chosen at first. */
const nothing = 'Do nothing';

/** The form that a person answers: one choice, in words. */
export const consentForm = (accept: string) => ({
  type: 'object' as const,
  properties: {
    decision: { type: 'string' as const, title: 'Decision', enum: [accept, nothing], default: nothing },
  },
  required: ['decision'],
});

/** People need time. The client may give up earlier. */
const answerMs = 10 * 60 * 1000;

/** How often a client is told that its user is still being asked: many reset their time-out with each. */
const progressMs = 10_000;

/**
 * The way to the person behind the client, or undefined if the client offers none. Up to 2025-11-25 the question is sent while
 * the call runs, which over HTTP would take a session; from 2026-07-28 on the call ends with it, and the answer comes with the
 * next one.
 * @param stillAsking called every ten seconds while a question waits for its answer
 */
export function elicitorFor(server: Server, context: ServerContext, stillAsking: () => void): Elicitor | undefined {
  const { envelope, inputResponses, requestState, send, signal } = context.mcpReq;
  if (envelope === undefined && context.http !== undefined) return undefined;
  const { elicitation } = clientCapabilities(server, context);
  // An empty declaration means forms.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined)) return undefined;
  if (envelope === undefined)
    return {
      // Not by elicitInput, which throws what is not chosen away.
      ask: async (message, accept) => {
        const timer = setInterval(stillAsking, progressMs);
        try {
          const params = { mode: 'form', message, requestedSchema: consentForm(accept) };
          return replyOf(await send({ method: 'elicitation/create', params }, { timeout: answerMs, signal }), accept);
        } catch {
          return 'unanswered';
        } finally {
          clearInterval(timer);
        }
      },
    };
  const view = inputResponse(inputResponses, 'consent');
  const claims = requestState<ConsentClaims>();
  const ask: Elicitor['ask'] = async () => 'later';
  if (view.kind !== 'elicit' || claims?.use !== 'question') return { ask };
  return { ask, brought: { claims, read: (accept) => replyOf(view, accept) } };
}

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

function replyOf({ action, content }: { action: string; content?: unknown }, accept: string): Reply {
  if (action === 'decline') return 'declined';
  if (action !== 'accept') return 'cancelled';
  const { data } = z.object({ decision: z.string() }).safeParse(content);
  if (data?.decision === accept) return 'agreed';
  return data?.decision === nothing ? 'declined' : 'notChosen';
}
