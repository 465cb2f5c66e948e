import { type Fields, fieldsOf, numberOf, readText } from './read-fields.js';

/** The failure of a request. A handler throws it to send its code and message to the other side. */
export class RequestFailed extends Error {
  /** `error`: the other side answered with an error. `unanswered`: no answer in time, or before `close`. The request may still take effect. */
  readonly kind: 'error' | 'unanswered';
  /** The JSON-RPC code of an error. */
  readonly code: number | undefined;
  constructor(kind: 'error' | 'unanswered', message: string, code?: number) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** Error code: the other side does not know the method, and did nothing. */
export const methodNotFound = -32601;

const internalError = -32603;
const internalFailure = { message: 'the request could not be answered', code: internalError };

/** One end of a JSON-RPC 2.0 connection over any transport of objects. */
export interface Peer {
  /** Sends a request and resolves with its result. @throws RequestFailed */
  request(method: string, params: Fields, timeoutMs: number): Promise<Fields>;
  notify(method: string, params: Fields): void;
  /** Handles a message of the other side. Messages that are not JSON-RPC are ignored. */
  receive(message: unknown): void;
  /** Ends the pending requests as unanswered. */
  close(): void;
}

interface PeerHandlers {
  /** Answers a request of the other side. Returns undefined if the method is not known. */
  onRequest(method: string, params: Fields): Promise<Fields> | undefined;
  onNotification(method: string, params: Fields): void;
}

interface PendingRequest {
  readonly timer: ReturnType<typeof setTimeout>;
  resolve(result: Fields): void;
  reject(error: RequestFailed): void;
}

/** Creates one end of a connection. `send` passes a message to the other side. */
export function createPeer(send: (message: Fields) => void, { onRequest, onNotification }: PeerHandlers): Peer {
  const pendingRequests = new Map<number, PendingRequest>();
  let lastId = 0;

  /** Removes and returns a pending request; undefined if the request is not pending any more, for example after its time limit. */
  const takePending = (id: number): PendingRequest | undefined => {
    const request = pendingRequests.get(id);
    pendingRequests.delete(id);
    clearTimeout(request?.timer);
    return request;
  };

  const receiveAnswer = (id: number, { result, error }: Fields) => {
    const request = takePending(id);
    if (error === undefined) {
      request?.resolve(fieldsOf(result));
      return;
    }
    const { code, message } = fieldsOf(error);
    const text = readText(message) ?? 'an error without a message';
    request?.reject(new RequestFailed('error', text, numberOf(code)));
  };

  const receiveRequest = (id: unknown, method: string, params: Fields) => {
    const unknownMethod = new RequestFailed('error', `${method} is not known here`, methodNotFound);
    const answer = onRequest(method, params) ?? Promise.reject(unknownMethod);
    answer.then(
      (result) => send({ jsonrpc: '2.0', id, result }),
      (reason: unknown) => {
        // Only the text of a `RequestFailed` is meant for the other side. Any other error is internal.
        const { message, code = internalError } = reason instanceof RequestFailed ? reason : internalFailure;
        send({ jsonrpc: '2.0', id, error: { code, message } });
      },
    );
  };

  return {
    request: (method, params, timeoutMs) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        const id = lastId;
        const giveUp = () => {
          takePending(id);
          reject(new RequestFailed('unanswered', `no answer within ${timeoutMs / 1000} s`));
        };
        pendingRequests.set(id, { resolve, reject, timer: setTimeout(giveUp, timeoutMs) });
        send({ jsonrpc: '2.0', id, method, params });
      }),
    close() {
      for (const id of [...pendingRequests.keys()])
        takePending(id)?.reject(new RequestFailed('unanswered', 'the connection was closed before the answer'));
    },
    notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
    receive(message) {
      const fields = fieldsOf(message);
      const { jsonrpc, id } = fields;
      if (jsonrpc !== '2.0') return;
      const method = readText(fields.method);
      const params = fieldsOf(fields.params);
      // Notifications have a method, answers have an id, and requests have both.
      if (method !== undefined && id === undefined) onNotification(method, params);
      else if (method !== undefined) receiveRequest(id, method, params);
      else if (typeof id === 'number') receiveAnswer(id, fields);
    },
  };
}
