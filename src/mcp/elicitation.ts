import { randomUUID } from 'node:crypto';
import { inputResponse, SdkError, SdkErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { longestReason } from '../changes/decline-reason.js';
import type { Brought, Elicitor, FormResponse, Guide, Visit } from '../changes/elicitor.js';
import { isTyped, typePrompt } from '../changes/typed-name.js';
import { isObject, textAt, valueAt } from '../util/objects.js';
import type { Client } from './client.js';
import { canLeaveFieldsEmpty } from './client-quirks.js';

const declineLabel = 'Do nothing';

/**
 * The form of a question. A deletion has only the field for the name, because a second field could contradict it. Any other change has two
 * labels, of which the accepting one is selected, so that the client's button to accept means what it says, and an optional reason.
 */
export function consentForm(client: Pick<Client, 'name'>, acceptLabel: string, nameToType?: string) {
  const text = { type: 'string' as const };
  if (nameToType !== undefined)
    return {
      type: 'object' as const,
      properties: { name: { ...text, title: typePrompt(nameToType).text } },
      required: ['name'],
    };
  const decision = { ...text, title: 'Decision', enum: [acceptLabel, declineLabel], default: acceptLabel };
  const reason = { ...text, title: 'Reason, if you decline', maxLength: longestReason };
  const properties = { decision, ...(canLeaveFieldsEmpty(client) && { reason }) };
  return { type: 'object' as const, properties, required: ['decision'] };
}

/** Time limit of a question, long enough for a person. The client may have a shorter limit. */
const answerMs = 10 * 60 * 1000;

/** Interval of progress notifications while a question is open. Many clients reset their time limit with each notification. */
const progressMs = 10_000;

/**
 * When the client can be asked. Since protocol 2026-07-28, requests have an envelope. In older protocols over HTTP, the answer would come with another
 * request, perhaps to another replica, so people decide on the page instead.
 */
function timeToAsk({ mcpReq: { envelope }, http }: ServerContext): 'duringCall' | 'afterCall' | 'never' {
  if (envelope !== undefined) return 'afterCall';
  return http === undefined ? 'duringCall' : 'never';
}

/**
 * Returns the way to ask the client's user in a form; undefined if the client cannot show forms, or speaks a protocol before 2026-07-28 over HTTP.
 * - In protocols before 2026-07-28, `ask` sends the question to the client during the call, and returns the user's response.
 * - Since 2026-07-28, `ask` returns `later`: the caller ends the call with the question as its result, and the client makes the same call a
 *   second time, with the response (`broughtBy`).
 * @param onWaiting called every ten seconds while a question waits for its answer
 */
export function elicitorFor(client: Client, context: ServerContext, onWaiting: () => void): Elicitor | undefined {
  const time = timeToAsk(context);
  if (!client.form || time === 'never') return undefined;
  if (time === 'afterCall') return { ask: async () => 'later' };
  return {
    ask: async (message, accept, cancelSignal, nameToType) => {
      const acceptLabel = accept.text;
      const requestedSchema = consentForm(client, acceptLabel, nameToType);
      const params = { mode: 'form', message: message.text, requestedSchema };
      // The SDK's `elicitInput` would drop answers that do not fit the form exactly, such as one with a null.
      const answer = await sendQuestion(context, params, cancelSignal, onWaiting);
      return answer.kind === 'answered' ? responseOf(answer.result, acceptLabel, nameToType) : { kind: answer.kind };
    },
  };
}

/** Returns what a second call brings back from the user, since protocol 2026-07-28. The state is the proof that the client got with the question. */
export function broughtBy({ mcpReq: { inputResponses, requestState } }: ServerContext): Brought {
  const proof = requestState<string>();
  if (proof === undefined || inputResponses === undefined) return { kind: 'nothing' };
  const answer = inputResponse(inputResponses, 'consent');
  return {
    kind: 'answer',
    proof,
    responseTo: (acceptLabel, nameToType) => responseOf(answer, acceptLabel, nameToType),
    visit: visitOf(answer),
  };
}

/** The client's answer to a question: a result, no answer in time, or an error, so that the client could not ask. */
type Answer =
  | { readonly kind: 'answered'; readonly result: unknown }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'notAsked' };

/** Sends a question during the call, and cancels the question when `cancelSignal` aborts. */
async function sendQuestion(
  { mcpReq: { send, signal } }: ServerContext,
  params: Readonly<Record<string, unknown>>,
  cancelSignal: AbortSignal,
  onWaiting: () => void,
): Promise<Answer> {
  const timer = setInterval(onWaiting, progressMs);
  const aborted = AbortSignal.any([signal, cancelSignal]);
  try {
    // Our own schema takes any answer, because the SDK's refuses a null in an optional field.
    const result = await send({ method: 'elicitation/create', params }, z.unknown(), {
      timeout: answerMs,
      signal: aborted,
    });
    return { kind: 'answered', result };
  } catch (error) {
    const isTimeout = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
    return { kind: isTimeout || aborted.aborted ? 'unanswered' : 'notAsked' };
  } finally {
    clearInterval(timer);
  }
}

/**
 * Returns the way to send the client's user to a URL, at which the user decides on a plan; undefined if the client cannot open URLs, or
 * speaks a protocol before 2026-07-28 over HTTP. The page at the URL must ask people to sign in, because the client and its model may read the URL.
 * - In protocols before 2026-07-28, `send` sends the URL to the client during the call, and returns the user's response (`Visit`).
 * - Since 2026-07-28, `send` returns `later`, as `elicitorFor` describes.
 * @param onWaiting called every ten seconds while the request to open the URL waits for its answer
 */
export function guideFor(client: Client, context: ServerContext, onWaiting: () => void): Guide | undefined {
  const time = timeToAsk(context);
  if (!client.url || time === 'never') return undefined;
  if (time === 'afterCall') return { send: async () => 'later' };
  return {
    send: async (message, url, cancelSignal) => {
      const params = { mode: 'url', message: message.text, url, elicitationId: randomUUID() };
      const answer = await sendQuestion(context, params, cancelSignal, onWaiting);
      return answer.kind === 'answered' ? visitOf(answer.result) : 'cancelled';
    },
  };
}

/** Returns the user's response in a client's answer to a URL. */
function visitOf(answer: unknown): Visit {
  const action = textAt(answer, 'action');
  if (action === 'accept') return 'opened';
  return action === 'decline' ? 'declined' : 'cancelled';
}

/** Returns the user's response in a client's answer to a form. An answer without content, or with neither of two labels, is nobody's response. */
function responseOf(answer: unknown, acceptLabel: string, nameToType: string | undefined): FormResponse {
  const action = textAt(answer, 'action');
  if (action === 'decline') return { kind: 'declined' };
  if (action === 'cancel') return { kind: 'cancelled' };
  if (action !== 'accept') return { kind: 'notAsked' };

  if (!isObject(valueAt(answer, 'content'))) return { kind: 'notAsked' };
  if (nameToType !== undefined)
    return { kind: isTyped(nameToType, textAt(answer, 'content.name')) ? 'agreed' : 'wrongName' };
  const label = textAt(answer, 'content.decision');
  if (label !== acceptLabel && label !== declineLabel) return { kind: 'notAsked' };
  // Whoever gives a reason for declining declines, even if the other option is still selected.
  const reason = textAt(answer, 'content.reason');
  return label === acceptLabel && !reason?.trim() ? { kind: 'agreed' } : { kind: 'declined', reason };
}
