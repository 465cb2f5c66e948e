import { randomUUID } from 'node:crypto';
import { inputResponse, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { longestReason } from '../changes/decline-reason.js';
import type { Elicitor, Guide, UserReply, Visit } from '../changes/elicitor.js';
import type { ConsentClaims } from '../consent/tokens.js';
import { isTyped } from '../changes/typed-name.js';
import { lazy } from '../util/objects.js';
import { say } from '../util/safe-text.js';
import type { Client } from './client.js';
import { canLeaveFieldsEmpty } from './client-quirks.js';

/** The declining option, which is selected by default. */
const declineLabel = 'Do nothing';

/** The form of a question: two labels to choose from, the name if it has to be typed, and an optional reason for declining. */
export const consentForm = (client: Pick<Client, 'name'>, acceptLabel: string, nameToType?: string) => ({
  type: 'object' as const,
  properties: {
    decision: { type: 'string' as const, title: 'Decision', enum: [acceptLabel, declineLabel], default: declineLabel },
    ...(nameToType !== undefined && {
      name: { type: 'string' as const, title: 'Name', description: say`Type ${nameToType} to agree.`.text },
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
 * Returns the way to ask the client's user in a form; undefined if the client cannot show forms.
 * - In protocols before 2026-07-28, `ask` sends the question to the client during the call, and returns the user's reply.
 * - Since 2026-07-28, `ask` returns `later`: the caller ends the call with the question as its result, and the client makes the same call a
 *   second time. `resumedReply` is the reply that the second call brings.
 * @param onWaiting called every ten seconds while a question waits for its answer
 */
export function elicitorFor(client: Client, context: ServerContext, onWaiting: () => void): Elicitor | undefined {
  if (!client.form) return undefined;
  // Without an envelope, the protocol is older than 2026-07-28.
  if (context.mcpReq.envelope === undefined) {
    return {
      ask: async (message, accept, cancelSignal, nameToType) => {
        const acceptLabel = accept.text;
        const requestedSchema = consentForm(client, acceptLabel, nameToType);
        const params = { mode: 'form', message: message.text, requestedSchema };
        // The SDK's `elicitInput` would drop answers that choose none of the options, which `replyOf` reads as `notChosen`.
        const answer = await sendQuestion(context, params, cancelSignal, onWaiting);
        return answer === undefined ? { kind: 'unanswered' } : replyOf(answer, acceptLabel, nameToType);
      },
    };
  }

  const ask: Elicitor['ask'] = async () => 'later';
  const resumed = resumedAnswer(context, claimsUseOfForm);
  if (resumed === undefined) return { ask };
  const { answer, claims } = resumed;
  // The second call needs `ask` too, to ask again if the user did not type `nameToType`.
  return { ask, resumedReply: { claims, read: (acceptLabel, nameToType) => replyOf(answer, acceptLabel, nameToType) } };
}

/** The `use` of the claims that the client gets with a form. */
const claimsUseOfForm = 'question';
/** The `use` of the claims that the client gets with a URL. These claims name the plan, but give no right to carry it out. */
const claimsUseOfUrl = 'handle';

/**
 * Returns the answer in a second call, and the claims that the client got with the form or the URL. Undefined for a first call, and if the
 * claims have another `use`.
 */
function resumedAnswer(
  { mcpReq: { inputResponses, requestState } }: ServerContext,
  use: typeof claimsUseOfForm | typeof claimsUseOfUrl,
) {
  const answer = inputResponse(inputResponses, 'consent');
  const claims = requestState<ConsentClaims>();
  return answer.kind === 'elicit' && claims?.use === use ? { answer, claims } : undefined;
}

/** Sends a question during the call, and cancels the question when `cancelSignal` aborts. Returns undefined if there is no answer. */
async function sendQuestion(
  { mcpReq: { send, signal } }: ServerContext,
  params: Readonly<Record<string, unknown>>,
  cancelSignal: AbortSignal,
  onWaiting: () => void,
) {
  const timer = setInterval(onWaiting, progressMs);
  try {
    return await send(
      { method: 'elicitation/create', params },
      { timeout: answerMs, signal: AbortSignal.any([signal, cancelSignal]) },
    );
  } catch {
    // The client refused the request or did not answer in time, or the question was cancelled.
    return undefined;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Returns the way to send the client's user to a URL, at which the user decides on a plan; undefined if the client cannot open URLs. The page at
 * the URL must ask people to sign in, because the client and its model may read the URL.
 * - In protocols before 2026-07-28, `send` sends the URL to the client during the call, and returns the user's reply (`Visit`).
 * - Since 2026-07-28, `send` returns `later`: the caller ends the call with the URL as its result, and the client makes the same call a second
 *   time. `resumedReply` is the reply that the second call brings.
 * @param onWaiting called every ten seconds while the request to open the URL waits for its answer
 */
export function guideFor(client: Client, context: ServerContext, onWaiting: () => void): Guide | undefined {
  if (!client.url) return undefined;
  // Without an envelope, the protocol is older than 2026-07-28.
  if (context.mcpReq.envelope === undefined) {
    return {
      send: async (message, url, cancelSignal) => {
        const params = { mode: 'url', message: message.text, url, elicitationId: randomUUID() };
        const answer = await sendQuestion(context, params, cancelSignal, onWaiting);
        return answer === undefined ? 'cancelled' : visitOf(answer);
      },
    };
  }

  const send: Guide['send'] = async () => 'later';
  const resumed = resumedAnswer(context, claimsUseOfUrl);
  if (resumed === undefined) return { send };
  return { send, resumedReply: { claims: resumed.claims, visit: visitOf(resumed.answer) } };
}

/** Returns the user's reply in a client's answer to a URL. */
function visitOf({ action }: { action: string }): Visit {
  if (action === 'accept') return 'opened';
  return action === 'decline' ? 'declined' : 'cancelled';
}

/** The answer to a form. A name or reason of another type counts as absent, so that the decision can still be read. */
const answerSchema = lazy(() => {
  const text = z.string().optional().catch(undefined);
  return z.object({ decision: z.string(), name: text, reason: text });
});

/** Returns the user's reply in a client's answer to a form. An answer with neither of the two labels counts as `notChosen`. */
function replyOf(
  { action, content }: { action: string; content?: unknown },
  acceptLabel: string,
  nameToType: string | undefined,
): UserReply {
  if (action === 'decline') return { kind: 'declined' };
  if (action !== 'accept') return { kind: 'cancelled' };

  const { data } = answerSchema().safeParse(content);
  if (data?.decision === acceptLabel) return { kind: isTyped(nameToType, data.name) ? 'agreed' : 'wrongName' };
  return data?.decision === declineLabel ? { kind: 'declined', reason: data.reason } : { kind: 'notChosen' };
}
