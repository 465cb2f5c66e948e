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

/** A client's message to a call that is still running. */
export interface ClientReply {
  /** An answer to a question, or a cancellation of the call that asks the question. */
  readonly kind: 'answer' | 'cancellation';
  /** The ID of the answered question, or of the cancelled call. */
  readonly id: RequestId;
  readonly message: JSONRPCMessage;
}

/** Reads a client's message as a reply. Returns undefined for any other message, such as a call. */
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

/** The session that a reply comes from, with its caller. A reply reaches only calls of the same session and caller. */
export interface Correspondent {
  /** Empty if callers are not authenticated. */
  readonly caller: string;
  readonly session: string;
}

interface InboxOptions {
  /** Messages between replicas. Undefined if there are no other replicas. */
  readonly shared: SharedMessages | undefined;
  /** Keys that seal messages to other replicas. */
  readonly stateKeys: SealingKeys;
  readonly log: Log;
}

/** Time between two polls for messages from other replicas (milliseconds). */
const pollMs = 500;

/** Size limit of a reply, in bytes. It is enough, because a form has a choice, a name and a short reason. */
export const maximumReply = 16 * 1024;

type Receive = (message: JSONRPCMessage) => void;
type ExpectedReply = Pick<ClientReply, 'kind' | 'id'>;

/** A call's wait for a reply. */
interface ReplyWait {
  /** Resolves when the other replicas know of the wait, or cannot be told. The question is sent only then, so that no replica drops the answer. */
  readonly announced: Promise<void> | undefined;
  end(): void;
}

/** Starts to wait for a reply. When the reply arrives, `receive` is called once, and the wait ends. */
export type ExpectReply = (expected: ExpectedReply, receive: Receive) => ReplyWait;

/**
 * Delivers replies to the calls that wait for them: directly if the call waits in this process, and otherwise through messages that all
 * replicas share. A reply for which no call waits is dropped: it came twice, too late, or from another session or caller.
 */
export function createInbox({ shared, stateKeys, log }: InboxOptions) {
  /** The waits of this process, by reply key. */
  const waits = new Map<string, { readonly receive: Receive; readonly announced: ReplyWait['announced'] }>();
  /** The reply key: the same text in all replicas for one reply of one session. */
  const replyKeyOf = ({ caller, session }: Correspondent, { kind, id }: ExpectedReply) =>
    digestOf([caller, session, kind, id]);
  // Sealing makes a text longer by about a third, because of base64, so twice the size is enough.
  const sealFor = (replyKey: string) =>
    createSeal(stateKeys, { purpose: 'cloudops reply', associatedData: replyKey, longest: 2 * maximumReply });
  const logFailure = (error: unknown) => log('debug', 'replies', { error: reasonOf(error) });

  /** Removes an announcement from the shared messages, unless another call waits with the same reply key. */
  const withdrawAnnouncement = async (replyKey: string, announced: ReplyWait['announced']): Promise<void> => {
    // The announcement must be complete first, because it would stay if it arrived after `shared.forget`.
    await announced;
    if (!waits.has(replyKey)) await shared?.forget(replyKey);
  };

  const endWait = (replyKey: string, receive: Receive): void => {
    const wait = waits.get(replyKey);
    // Another wait belongs to a later call with the same reply key, which continues to wait.
    if (wait?.receive !== receive) return;
    waits.delete(replyKey);
    withdrawAnnouncement(replyKey, wait.announced).catch(logFailure);
  };

  /** Gives a message to the call that waits for it. Returns false if no call of this process waits. */
  const deliverHere = (replyKey: string, message: JSONRPCMessage): boolean => {
    const receive = waits.get(replyKey)?.receive;
    if (receive === undefined) return false;
    endWait(replyKey, receive);
    receive(message);
    return true;
  };

  /** Delivers the messages that other replicas have received for calls of this process. */
  const deliverShared = async (messages: SharedMessages): Promise<void> => {
    for (const { key: replyKey, message: sealed } of await messages.read([...waits.keys()])) {
      // Undefined if the text was sealed with other state keys, or for another reply.
      const text = sealFor(replyKey).open(sealed);
      const reply = text === undefined ? undefined : replyIn(JSON.parse(text));
      if (reply !== undefined) deliverHere(replyKey, reply.message);
    }
  };

  let isPolling = false;
  /** Polls for messages from other replicas until no call of this process waits. */
  const poll = async (messages: SharedMessages): Promise<void> => {
    isPolling = true;
    while (waits.size > 0) {
      await delay(pollMs, undefined, { ref: false });
      await deliverShared(messages).catch(logFailure);
    }
    isPolling = false;
  };

  return {
    /** Starts to wait for a reply (see `ExpectReply`). */
    expectReply(from: Correspondent, expected: ExpectedReply, receive: Receive): ReplyWait {
      const replyKey = replyKeyOf(from, expected);
      // If the other replicas cannot be told, replies to this process still arrive.
      const announced = shared?.announce(replyKey).catch(logFailure);
      waits.set(replyKey, { receive, announced });
      if (shared !== undefined && !isPolling) void poll(shared);
      return { announced, end: () => endWait(replyKey, receive) };
    },
    /** Delivers a reply that this process has received. Rejects if the reply is for another replica and cannot be passed on. */
    async deliver(from: Correspondent, reply: ClientReply): Promise<void> {
      const replyKey = replyKeyOf(from, reply);
      // `shared.put` drops a reply for which no replica has announced a wait.
      if (!deliverHere(replyKey, reply.message))
        await shared?.put(replyKey, sealFor(replyKey).seal(JSON.stringify(reply.message)));
    },
  };
}
