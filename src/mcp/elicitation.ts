import { randomUUID } from 'node:crypto';
import { inputResponse, SdkError, SdkErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Brought, Elicitor, FormResponse, Guide, Visit } from '../calls/context.js';
import { longestReason } from '../changes/decline-reason.js';
import { declineLabel, isTyped, typeLabel } from '../changes/typed-name.js';
import { english, type Translator } from '../util/language.js';
import { isObject, textAt, valueAt } from '../util/objects.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { Client } from './client.js';
import { canLeaveFieldsEmpty } from './client-quirks.js';

/** The form of a question. The accepting label is selected, so that it agrees with the client's button. */
export function consentForm(
  client: Pick<Client, 'name'>,
  accept: SafeText,
  nameToType?: string,
  { translate: t }: Translator = english,
) {
  const text = { type: 'string' as const };
  if (nameToType !== undefined)
    return {
      type: 'object' as const,
      properties: { name: { ...text, title: t(typeLabel(nameToType)).text } },
      required: ['name'],
    };
  const acceptLabel = t(accept).text;
  const labels = [acceptLabel, t(declineLabel).text];
  const decision = { ...text, title: t(words('Decision')).text, enum: labels, default: acceptLabel };
  const reason = { ...text, title: t(words('Reason, if you decline')).text, maxLength: longestReason };
  const properties = { decision, ...(canLeaveFieldsEmpty(client) && { reason }) };
  return { type: 'object' as const, properties, required: ['decision'] };
}

/**
 * Returns the ways to ask the client's user: in a form, or on a page, which must ask people to sign in, because the model may read its URL.
 * Since 2026-07-28, they return `later`. Over HTTP, an old client's answer could reach another replica.
 * @param onWaiting called every ten seconds while a question is open
 */
export function waysToAsk(
  client: Client,
  context: ServerContext,
  onWaiting: () => void,
  translator: Translator = english,
): { readonly elicitor?: Elicitor; readonly guide?: Guide } {
  const isLater = context.mcpReq.envelope !== undefined;
  if (!isLater && context.http !== undefined) return {};
  const later = async () => 'later' as const;

  const ask: Elicitor['ask'] = async (message, accept, cancelSignal, nameToType) => {
    const requestedSchema = consentForm(client, accept, nameToType, translator);
    const params = { mode: 'form', message: translator.translate(message).text, requestedSchema };
    // The SDK's `elicitInput` would drop answers that do not fit the form exactly.
    const answer = await sendQuestion(context, params, cancelSignal, onWaiting);
    return answer.kind === 'answered'
      ? responseOf(answer.result, accept, nameToType, translator)
      : { kind: answer.kind };
  };
  const guide: Guide = async (message, url, cancelSignal) => {
    const params = { mode: 'url', message: translator.translate(message).text, url, elicitationId: randomUUID() };
    const answer = await sendQuestion(context, params, cancelSignal, onWaiting);
    return answer.kind === 'answered' ? visitOf(answer.result) : 'cancelled';
  };
  return {
    ...(client.form && { elicitor: { ask: isLater ? later : ask } }),
    ...(client.url && { guide: isLater ? later : guide }),
  };
}

export function broughtBy(
  { mcpReq: { inputResponses, requestState } }: ServerContext,
  translator: Translator = english,
): Brought | undefined {
  const proof = requestState<string>();
  if (proof === undefined || inputResponses === undefined) return undefined;
  const answer = inputResponse(inputResponses, 'consent');
  return {
    kind: 'answer',
    proof,
    responseTo: (accept, nameToType) => responseOf(answer, accept, nameToType, translator),
    visit: visitOf(answer),
  };
}

async function sendQuestion(
  { mcpReq: { send, signal } }: ServerContext,
  params: Readonly<Record<string, unknown>>,
  cancelSignal: AbortSignal,
  onWaiting: () => void,
) {
  // Many clients reset their time limit with each notification.
  const timer = setInterval(onWaiting, 10_000);
  const aborted = AbortSignal.any([signal, cancelSignal]);
  try {
    // The SDK's schema refuses a null in an optional field.
    const result = await send({ method: 'elicitation/create', params }, z.unknown(), {
      // Ten minutes. The client may have a shorter limit.
      timeout: 600_000,
      signal: aborted,
    });
    return { kind: 'answered', result } as const;
  } catch (error) {
    if (aborted.aborted) return { kind: 'interrupted' } as const;
    const isTimeout = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
    return { kind: isTimeout ? 'unanswered' : 'notAsked' } as const;
  } finally {
    clearInterval(timer);
  }
}

function visitOf(answer: unknown): Visit {
  const action = textAt(answer, 'action');
  if (action === 'accept') return 'opened';
  return action === 'decline' ? 'declined' : 'cancelled';
}

/** An answer without content is no response. */
function responseOf(
  answer: unknown,
  accept: SafeText,
  nameToType: string | undefined,
  { translate: t }: Translator,
): FormResponse {
  const action = textAt(answer, 'action');
  if (action === 'decline') return { kind: 'declined' };
  if (action === 'cancel') return { kind: 'cancelled' };
  if (action !== 'accept') return { kind: 'notAsked' };

  if (!isObject(valueAt(answer, 'content'))) return { kind: 'notAsked' };
  if (nameToType !== undefined)
    return { kind: isTyped(nameToType, textAt(answer, 'content.name')) ? 'agreed' : 'wrongName' };
  const label = textAt(answer, 'content.decision');
  const acceptLabel = t(accept).text;
  if (label !== acceptLabel && label !== t(declineLabel).text) return { kind: 'notAsked' };
  // A reason declines, even if the other option is still selected.
  const reason = textAt(answer, 'content.reason');
  return label === acceptLabel && !reason?.trim() ? { kind: 'agreed' } : { kind: 'declined', reason };
}
