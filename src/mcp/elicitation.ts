import { randomUUID } from 'node:crypto';
import { inputResponse, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Elicitor, Guide, UserReply, Visit } from '../consent/elicitor.js';
import type { ConsentClaims } from '../consent/tokens.js';
import type { Client } from './client.js';

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

/** The interval at which a client is told that its user is still being asked: many reset their time-out each time. */
const progressMs = 10_000;

export interface Asking {
  /** Called every ten seconds while a question waits for its answer. */
  readonly stillAsking: () => void;
}

/**
 * The way to the person behind the client, or undefined if the client offers none. Up to 2025-11-25 the question is sent while
 * the call runs; from 2026-07-28 on the call ends with it, and the answer comes with the next one.
 */
export function elicitorFor(client: Client, context: ServerContext, { stillAsking }: Asking): Elicitor | undefined {
  const { envelope, inputResponses, requestState } = context.mcpReq;
  if (!client.form) return undefined;
  if (envelope === undefined)
    return {
      // Not by elicitInput, which throws what is not chosen away.
      ask: async (message, accept) => {
        const params = { mode: 'form', message: message.text, requestedSchema: consentForm(accept.text) };
        const answer = await sendQuestion(context, params, stillAsking);
        return answer === undefined ? 'unanswered' : replyOf(answer, accept.text);
      },
    };
  const view = inputResponse(inputResponses, 'consent');
  const claims = requestState<ConsentClaims>();
  const ask: Elicitor['ask'] = async () => 'later';
  if (view.kind !== 'elicit' || claims?.use !== 'question') return { ask };
  return { ask, resumedReply: { claims, read: (accept) => replyOf(view, accept) } };
}

/** The answer to a question that is sent while the call runs; undefined if none comes. */
async function sendQuestion(
  { mcpReq: { send, signal } }: ServerContext,
  params: Readonly<Record<string, unknown>>,
  stillAsking: () => void,
) {
  const timer = setInterval(stillAsking, progressMs);
  try {
    return await send({ method: 'elicitation/create', params }, { timeout: answerMs, signal });
  } catch {
    return undefined;
  } finally {
    clearInterval(timer);
  }
}

/**
 * The way in which the client sends its user to an address, or undefined if it offers none. It may not be
 * told an address that has power of its own.
 */
export function guideFor(client: Client, context: ServerContext, { stillAsking }: Asking): Guide | undefined {
  const { envelope, inputResponses, requestState } = context.mcpReq;
  if (!client.url) return undefined;
  if (envelope === undefined)
    return {
      send: async (message, url) => {
        const params = { mode: 'url', message: message.text, url, elicitationId: randomUUID() };
        return visitOf(await sendQuestion(context, params, stillAsking));
      },
    };
  const view = inputResponse(inputResponses, 'consent');
  const claims = requestState<ConsentClaims>();
  const send: Guide['send'] = async () => 'later';
  if (view.kind !== 'elicit' || claims?.use !== 'handle') return { send };
  return { send, resumedReply: { claims, visit: visitOf(view) } };
}

const visitOf = (answer: { action: string } | undefined): Visit => {
  if (answer?.action === 'accept') return 'opened';
  return answer?.action === 'decline' ? 'declined' : 'cancelled';
};

function replyOf({ action, content }: { action: string; content?: unknown }, accept: string): UserReply {
  if (action === 'decline') return 'declined';
  if (action !== 'accept') return 'cancelled';
  const { data } = z.object({ decision: z.string() }).safeParse(content);
  if (data?.decision === accept) return 'agreed';
  return data?.decision === nothing ? 'declined' : 'notChosen';
}
