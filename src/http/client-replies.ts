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

/** A session, with its caller. */
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
}

/** The time between two polls for messages from other replicas, in milliseconds. */
const pollMs = 500;

/** Size limit of a reply, in bytes. Answers to questions are short, because a form has only one choice. */
export const maximumReply = 16 * 1024;

type Receive = (message: JSONRPCMessage) => void;

/**
 * Delivers replies to the calls that wait for them: directly in this process, and through shared messages in other replicas. Drops a
 * reply for which no call waits, because it came twice, too late, or from another session or caller.
 */
export function createInbox({ shared, stateKeys, log }: InboxOptions) {
  /** The receivers of the calls that wait, by the key of the reply. */
  const receivers = new Map<string, Receive>();
  const keyOf = ({ caller, session }: Correspondent, { kind, id }: Pick<ClientReply, 'kind' | 'id'>) =>
    digestOf([caller, session, kind, id]);
  const sealFor = (key: string) =>
    createSeal(stateKeys, { purpose: 'cloudops reply', associatedData: key, longest: 2 * maximumReply });
  const logFailure = (error: unknown) => log('debug', 'replies', { error: reasonOf(error) });

  const endWait = (key: string, receive: Receive): void => {
    // Another call may wait for this reply by now.
    if (receivers.get(key) !== receive) return;
    receivers.delete(key);
    shared?.forget(key).catch(logFailure);
  };
  /** Returns false if no call of this process waits for the message. */
  const deliverHere = (key: string, message: JSONRPCMessage): boolean => {
    const receive = receivers.get(key);
    if (receive === undefined) return false;
    endWait(key, receive);
    receive(message);
    return true;
  };

  const deliverShared = async (messages: SharedMessages): Promise<void> => {
    for (const { key, message } of await messages.read([...receivers.keys()])) {
      const text = sealFor(key).open(message);
      const reply = text === undefined ? undefined : replyIn(JSON.parse(text));
      if (reply !== undefined) deliverHere(key, reply.message);
    }
  };
  let isPolling = false;
  /** Reads messages from other replicas until no call waits. */
  const poll = async (messages: SharedMessages): Promise<void> => {
    isPolling = true;
    while (receivers.size > 0) {
      await delay(pollMs, undefined, { ref: false });
      await deliverShared(messages).catch(logFailure);
    }
    isPolling = false;
  };

  return {
    /** Waits for a reply, and calls `receive` with it once. Resolves as soon as the reply can arrive, with the function that ends the wait. */
    async expect(from: Correspondent, reply: Pick<ClientReply, 'kind' | 'id'>, receive: Receive): Promise<() => void> {
      const key = keyOf(from, reply);
      receivers.set(key, receive);
      // If the shared messages fail, replies to this process still arrive.
      await shared?.expect(key).catch(logFailure);
      if (shared !== undefined && !isPolling) void poll(shared);
      return () => endWait(key, receive);
    },
    /** Delivers a reply. Rejects if no call of this process waits for it and it cannot be passed to other replicas. */
    async deliver(from: Correspondent, reply: ClientReply): Promise<void> {
      const key = keyOf(from, reply);
      if (!deliverHere(key, reply.message)) await shared?.put(key, sealFor(key).seal(JSON.stringify(reply.message)));
    },
  };
}
