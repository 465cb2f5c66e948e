import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** This file skips interim responses (1xx), such as a `100 Continue` that nobody asked for, before the HTTP library reads them. */

/**
 * Makes the connections of a connector skip interim responses. A client must accept any number of them (RFC 9110, section 15.2), but undici
 * closes the connection at a `100 Continue`. `101 Switching Protocols` stays, because it is final for HTTP.
 * @param headBytes size limit of an interim response. The rest of a larger one is left to the HTTP library, which refuses it
 */
export const skippingInterim =
  (connect: buildConnector.connector, headBytes: number): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...result) => {
      // Contrary to its type, undici's connector leaves the socket out after an error.
      const [, socket = null] = result;
      if (socket !== null) skipOn(socket, createFilter(headBytes));
      callback(...result);
    });

/** Puts a filter between a socket and undici, which reads with `read()` and writes with `write()`. */
function skipOn(socket: Socket, { expectResponse, pass }: ReturnType<typeof createFilter>): void {
  const { read, write } = socket;
  const readFiltered = (...size: [number?]): Buffer | null => {
    const chunk: Buffer | null = read.apply(socket, size);
    const rest = chunk === null ? null : pass(chunk);
    // An empty buffer would mean nothing to undici, and null that it has to wait, although more may have arrived.
    return rest === null || rest.length > 0 ? rest : readFiltered(...size);
  };
  Object.assign(socket, {
    read: readFiltered,
    // A response can begin only after a request was written.
    write: (...content: unknown[]) => {
      expectResponse();
      return Reflect.apply(write, socket, content);
    },
  });
}

const headEnd = '\r\n\r\n';

/** Removes interim responses from the bytes of a connection. */
function createFilter(headBytes: number) {
  /** The bytes that may be the beginning of an interim response. Undefined while no response is about to begin. */
  let held: Buffer | undefined;
  return {
    expectResponse: () => {
      held ??= Buffer.alloc(0);
    },
    /** Returns the bytes to read on with. Empty if all bytes are skipped, or held until more arrive. */
    pass: (chunk: Buffer): Buffer => {
      if (held === undefined) return chunk;
      let bytes = Buffer.concat([held, chunk]);
      let end = interimEnd(bytes, headBytes);
      while (typeof end === 'number' && end > 0) {
        bytes = bytes.subarray(end);
        end = interimEnd(bytes, headBytes);
      }
      held = end === undefined ? bytes : undefined;
      return end === undefined ? Buffer.alloc(0) : bytes;
    },
  };
}

/** Returns the size of the interim response at the beginning of some bytes; 0 if there is none; undefined if more bytes are needed to know. */
function interimEnd(bytes: Buffer, headBytes: number): number | undefined {
  const start = bytes.toString('latin1', 0, 'HTTP/1.1 100'.length);
  const mayBeInterim = 'HTTP/1.1 1'.startsWith(start.slice(0, 10).replace('/1.0', '/1.1'));
  if (!mayBeInterim || start.endsWith(' 101')) return 0;
  const end = bytes.indexOf(headEnd);
  if (end >= 0) return end + headEnd.length;
  return bytes.length > headBytes ? 0 : undefined;
}
