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

/** A message that goes on with a call which waits for its client. */
export interface ClientReply {
  /** The answer to a question, or the end of the call that asked it. */
  readonly kind: 'answer' | 'cancellation';
  /** The ID of the question or of the call. */
  readonly id: RequestId;
  readonly message: JSONRPCMessage;
}

/** The reply that a message is, if it is one. */
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

/** The ID of the request that a notification cancels, if it cancels one. */
export function cancelledIn({ method, params }: JSONRPCNotification): RequestId | undefined {
  const id = params?.requestId;
  return method === cancelled && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}

/** The session that a reply comes from or is waited for in. */
export interface Correspondent {
  /** Empty where callers have no names. */
  readonly caller: string;
  readonly session: string;
}

/** Brings replies to the calls that wait for them. */
export type Inbox = ReturnType<typeof createInbox>;

export interface InboxOptions {
  /** Absent where no other process can wait for a reply that comes here. */
  readonly shared: SharedMessages | undefined;
  /** Seals what is shared. */
  readonly stateKeys: SealingKeys;
  readonly log: Log;
  /** The time between two looks at what is shared, in milliseconds. */
  readonly pollMs?: number;
}

/** The text of the longest reply that is taken, in bytes. A form has one choice. */
export const maximumReply = 16 * 1024;

/** Gets the reply that is waited for. */
type Receive = (message: JSONRPCMessage) => void;

/**
 * Brings replies to calls of this process at once, and to those of other processes through what they share. A reply that nobody waits
 * for is dropped: it came twice, too late, or from another session or caller.
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
  const give = (key: string, message: JSONRPCMessage): boolean => {
    const receive = waiting.get(key);
    if (receive === undefined) return false;
    stop(key, receive);
    receive(message);
    return true;
  };

  const look = async (messages: SharedMessages): Promise<void> => {
    for (const { key, message } of await messages.read([...waiting.keys()])) {
      const text = sealOf(key).open(message);
      const reply = text === undefined ? undefined : replyIn(JSON.parse(text));
      if (reply !== undefined) give(key, reply.message);
    }
  };
  let polling = false;
  const poll = async (messages: SharedMessages): Promise<void> => {
    polling = true;
    while (waiting.size > 0) {
      await delay(pollMs, undefined, { ref: false });
      await look(messages).catch(failed);
    }
    polling = false;
  };

  return {
    /**
     * Waits for a reply, with which `receive` is called, once. Resolves, when the reply can come, with the function that ends the
     * wait.
     */
    async expect(from: Correspondent, reply: Pick<ClientReply, 'kind' | 'id'>, receive: Receive): Promise<() => void> {
      const key = keyOf(from, reply);
      waiting.set(key, receive);
      // Without what is shared, replies that come to this process still arrive.
      await shared?.expect(key).catch(failed);
      if (shared !== undefined && !polling) void poll(shared);
      return () => stop(key, receive);
    },
    /** Brings a reply to the call that waits for it. Rejects if it has to go to another process and cannot. */
    async deliver(from: Correspondent, reply: ClientReply): Promise<void> {
      const key = keyOf(from, reply);
      if (!give(key, reply.message)) await shared?.put(key, sealOf(key).seal(JSON.stringify(reply.message)));
    },
  };
}
