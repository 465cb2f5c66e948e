import { setTimeout as delay } from 'node:timers/promises';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type RequestId,
} from '@modelcontextprotocol/server';
import { digestOf } from '../util/digest.js';
import { type Log, reasonOf } from '../util/log.js';
import { isObject } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import type { SharedMessages } from './replica-messages.js';

/** A message from a client to one of its calls that waits for it. */
export interface ClientReply {
  /** The answer to a question, or the cancellation of the call that asks it. */
  readonly kind: 'answer' | 'cancellation';
  /** The ID of the question or of the call. */
  readonly id: RequestId;
  readonly message: JSONRPCMessage;
}

/** Reads a message as a reply. Returns undefined for any other message. */
export function replyIn(message: unknown): ClientReply | undefined {
  if (!isObject(message)) return undefined;
  if (!('method' in message)) {
    if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) return undefined;
    return message.id === undefined ? undefined : { kind: 'answer', id: message.id, message };
  }
  if (message.method !== cancelled || !isJSONRPCNotification(message)) return undefined;
  const id = cancelledIn(message);
  return id === undefined ? undefined : { kind: 'cancellation', id, message };
}

const cancelled = 'notifications/cancelled';

/** The ID of the request that a notification cancels; undefined for any other notification. */
export function cancelledIn({ method, params }: JSONRPCNotification): RequestId | undefined {
  const id = params?.requestId;
  return method === cancelled && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}

/** The session from which a reply comes. */
interface Correspondent {
  /** Empty if callers are not authenticated. */
  readonly caller: string;
  readonly session: string;
}

export type Inbox = ReturnType<typeof createInbox>;

interface InboxOptions {
  /** Undefined if there are no other replicas. */
  readonly shared: SharedMessages | undefined;
  /** Keys that seal messages to other replicas. */
  readonly stateKeys: SealingKeys;
  readonly log: Log;
  /** The time between two polls for messages from other replicas, in milliseconds. */
  readonly pollMs?: number;
}

/** Size limit of a reply, in bytes. A form has only one choice. */
export const maximumReply = 16 * 1024;

type Receive = (message: JSONRPCMessage) => void;

/**
 * Delivers replies to the calls that wait for them: directly in this process, and through shared messages in other replicas. Drops a
 * reply for which no call waits, because it came twice, too late, or from another session or caller.
 */
export function createInbox({ shared, stateKeys, log, pollMs = 500 }: InboxOptions) {
  const waiting = new Map<string, Receive>();
  const keyOf = ({ caller, session }: Correspondent, { kind, id }: Pick<ClientReply, 'kind' | 'id'>) =>
    digestOf([caller, session, kind, id]);
  const sealOf = (key: string) =>
    createSeal(stateKeys, { purpose: 'cloudops reply', associatedData: key, longest: 2 * maximumReply });
  const failed = (error: unknown) => log('debug', 'replies', { error: reasonOf(error) });

  const stop = (key: string, receive: Receive): void => {
    if (waiting.get(key) !== receive) return;
    waiting.delete(key);
    shared?.forget(key).catch(failed);
  };
  const deliverHere = (key: string, message: JSONRPCMessage): boolean => {
    const receive = waiting.get(key);
    if (receive === undefined) return false;
    stop(key, receive);
    receive(message);
    return true;
  };

  const pollOnce = async (messages: SharedMessages): Promise<void> => {
    for (const { key, message } of await messages.read([...waiting.keys()])) {
      const text = sealOf(key).open(message);
      const reply = text === undefined ? undefined : replyIn(JSON.parse(text));
      if (reply !== undefined) deliverHere(key, reply.message);
    }
  };
  let polling = false;
  const poll = async (messages: SharedMessages): Promise<void> => {
    polling = true;
    while (waiting.size > 0) {
      await delay(pollMs, undefined, { ref: false });
      await pollOnce(messages).catch(failed);
    }
    polling = false;
  };

  return {
    /** Waits for a reply, and calls `receive` with it once. Resolves as soon as the reply can arrive, with the function that ends the wait. */
    async expect(from: Correspondent, reply: Pick<ClientReply, 'kind' | 'id'>, receive: Receive): Promise<() => void> {
      const key = keyOf(from, reply);
      waiting.set(key, receive);
      // If the shared messages fail, replies to this process still arrive.
      await shared?.expect(key).catch(failed);
      if (shared !== undefined && !polling) void poll(shared);
      return () => stop(key, receive);
    },
    /** Delivers a reply. Rejects if no call of this process waits for it and it cannot be passed to other replicas. */
    async deliver(from: Correspondent, reply: ClientReply): Promise<void> {
      const key = keyOf(from, reply);
      if (!deliverHere(key, reply.message)) await shared?.put(key, sealOf(key).seal(JSON.stringify(reply.message)));
    },
  };
}
