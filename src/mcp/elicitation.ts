import { randomUUID } from 'node:crypto';
import { inputResponse, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { longestReason } from '../consent/decline-reason.js';
import type { Elicitor, Guide, UserReply, Visit } from '../consent/elicitor.js';
import type { ConsentClaims } from '../consent/tokens.js';
import { isTyped } from '../consent/typed-name.js';
import { lazy } from '../util/objects.js';
import { say } from '../util/safe-text.js';
import type { Client } from './client.js';
import { canLeaveFieldsEmpty } from './client-quirks.js';

/** The declining option, which is selected by default. */
const declineLabel = 'Do nothing';

/**
 * The form of a question: a choice between two labels, the name if the person has to type it, and a reason for declining, if the client
 * lets it stay empty.
 */
export const consentForm = (client: Pick<Client, 'name'>, accept: string, typedName?: string) => ({
  type: 'object' as const,
  properties: {
    decision: { type: 'string' as const, title: 'Decision', enum: [accept, declineLabel], default: declineLabel },
    ...(typedName !== undefined && {
      name: { type: 'string' as const, title: 'Name', description: say`Type ${typedName} to agree.`.text },
    }),
    ...(canLeaveFieldsEmpty(client) && {
      reason: { type: 'string' as const, title: 'Reason, if you decline', maxLength: longestReason },
    }),
  },
  required: ['decision'],
});

/** Time limit of a question, long enough for a person. The client may have a shorter limit. */
const answerMs = 10 * 60 * 1000;

/** Interval of progress notifications while a question is open. Many clients reset their time limit with each notification. */
const progressMs = 10_000;

/**
 * Returns the way to ask the client's user; undefined if the client cannot show forms. Up to 2025-11-25, the question is sent during
 * the call. From 2026-07-28 on, the call ends with the question, and the next call brings the reply.
 * @param onWaiting called every ten seconds while a question waits for its answer
 */
export function elicitorFor(client: Client, context: ServerContext, onWaiting: () => void): Elicitor | undefined {
  const { envelope, inputResponses, requestState } = context.mcpReq;
  if (!client.form) return undefined;
  if (envelope === undefined)
    return {
      // Not with the SDK's elicitInput, which drops replies that are none of the options.
      ask: async (message, accept, over, typedName) => {
        const requestedSchema = consentForm(client, accept.text, typedName);
        const params = { mode: 'form', message: message.text, requestedSchema };
        const answer = await sendQuestion(context, params, over, onWaiting);
        return answer === undefined ? { kind: 'unanswered' } : replyOf(answer, accept.text, typedName);
      },
    };
  const ask: Elicitor['ask'] = async () => 'later';
  const answer = inputResponse(inputResponses, 'consent');
  const claims = requestState<ConsentClaims>();
  if (answer.kind !== 'elicit' || claims?.use !== 'question') return { ask };
  return { ask, resumedReply: { claims, read: (accept, typedName) => replyOf(answer, accept, typedName) } };
}

/** Sends a question during the call, and takes it back when it is over. Returns undefined without a reply. */
async function sendQuestion(
  { mcpReq: { send, signal } }: ServerContext,
  params: Readonly<Record<string, unknown>>,
  over: AbortSignal,
  onWaiting: () => void,
) {
  const timer = setInterval(onWaiting, progressMs);
  try {
    return await send(
      { method: 'elicitation/create', params },
      { timeout: answerMs, signal: AbortSignal.any([signal, over]) },
    );
  } catch {
    return undefined;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Returns the way to send the client's user to a URL; undefined if the client cannot. The URL must not grant power by itself, because
 * the client and perhaps its model read it.
 */
export function guideFor(client: Client, context: ServerContext, onWaiting: () => void): Guide | undefined {
  const { envelope, inputResponses, requestState } = context.mcpReq;
  if (!client.url) return undefined;
  if (envelope === undefined)
    return {
      send: async (message, url, over) => {
        const params = { mode: 'url', message: message.text, url, elicitationId: randomUUID() };
        return visitOf(await sendQuestion(context, params, over, onWaiting));
      },
    };
  const send: Guide['send'] = async () => 'later';
  const answer = inputResponse(inputResponses, 'consent');
  const claims = requestState<ConsentClaims>();
  if (answer.kind !== 'elicit' || claims?.use !== 'handle') return { send };
  return { send, resumedReply: { claims, visit: visitOf(answer) } };
}

const visitOf = (answer: { action: string } | undefined): Visit => {
  if (answer?.action === 'accept') return 'opened';
  return answer?.action === 'decline' ? 'declined' : 'cancelled';
};

/** A field of another type counts as absent, so that the decision can still be read. */
const answerSchema = lazy(() => {
  const text = z.string().optional().catch(undefined);
  return z.object({ decision: z.string(), name: text, reason: text });
});

/** Reads the answer of a client to a form. */
function replyOf(
  { action, content }: { action: string; content?: unknown },
  accept: string,
  typedName: string | undefined,
): UserReply {
  if (action === 'decline') return { kind: 'declined' };
  if (action !== 'accept') return { kind: 'cancelled' };
  const { data } = answerSchema().safeParse(content);
  if (data?.decision === accept) return { kind: isTyped(typedName, data.name) ? 'agreed' : 'wrongName' };
  return data?.decision === declineLabel ? { kind: 'declined', reason: data.reason } : { kind: 'notChosen' };
}
