import { type Fields, fieldsOf, numberOf, readText } from './read-fields.js';

/** A request without a result. */
export class RequestFailed extends Error {
  /** `error`: the other side answered with an error. `unanswered`: no answer came in time, and the request may still take effect. */
  readonly kind: 'error' | 'unanswered';
  /** The JSON-RPC code of an error. */
  readonly code: number | undefined;
  constructor(kind: 'error' | 'unanswered', message: string, code?: number) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** The other side does not know the method, and did nothing. */
export const methodNotFound = -32601;

const internalError = -32603;
const unanswerable = { message: 'the request could not be answered', code: internalError };

/** One end of a JSON-RPC 2.0 connection over any transport of objects. */
export interface Peer {
  /** @throws RequestFailed */
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

export function createPeer(send: (message: Fields) => void, { onRequest, onNotification }: PeerHandlers): Peer {
  interface Pending {
    resolve(result: Fields): void;
    reject(error: RequestFailed): void;
  }
  const pending = new Map<number, Pending>();
  let lastId = 0;

  const answer = (id: number, { result, error }: Fields) => {
    const waiting = pending.get(id);
    pending.delete(id);
    const { code, message } = fieldsOf(error);
    if (error === undefined) waiting?.resolve(fieldsOf(result));
    else waiting?.reject(new RequestFailed('error', readText(message) ?? 'an error without a message', numberOf(code)));
  };

  return {
    request: (method, params, timeoutMs) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        const id = lastId;
        const timer = setTimeout(() => {
          pending.delete(id);
          reject(new RequestFailed('unanswered', `no answer within ${timeoutMs / 1000} s`));
        }, timeoutMs);
        const ended = <Value>(end: (value: Value) => void) => {
          return (value: Value) => {
            clearTimeout(timer);
            end(value);
          };
        };
        pending.set(id, { resolve: ended(resolve), reject: ended(reject) });
        send({ jsonrpc: '2.0', id, method, params });
      }),
    close() {
      for (const { reject } of pending.values())
        reject(new RequestFailed('unanswered', 'the connection was closed before the answer'));
      pending.clear();
    },
    notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
    receive(message) {
      const fields = fieldsOf(message);
      const { jsonrpc, id } = fields;
      const method = readText(fields.method);
      const params = fieldsOf(fields.params);
      if (jsonrpc !== '2.0') return;
      if (method === undefined) {
        if (typeof id === 'number') answer(id, fields);
      } else if (id === undefined) onNotification(method, params);
      else {
        const unknown = new RequestFailed('error', `${method} is not known here`, methodNotFound);
        (onRequest(method, params) ?? Promise.reject(unknown)).then(
          (result) => send({ jsonrpc: '2.0', id, result }),
          (reason: unknown) => {
            const { message, code = internalError } = reason instanceof RequestFailed ? reason : unanswerable;
            send({ jsonrpc: '2.0', id, error: { code, message } });
          },
        );
      }
    },
  };
}
