import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** Skips interim responses (1xx) before the HTTP library reads them. */

/** Clients must accept interim responses (RFC 9110, section 15.2), but undici closes the connection at `100 Continue`. */
export const skippingInterim =
  (connect: buildConnector.connector, headBytes: number): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...result) => {
      // After an error, undici's connector leaves the socket out.
      const [, socket = null] = result;
      if (socket !== null) skipOn(socket, createFilter(headBytes));
      callback(...result);
    });

function skipOn(socket: Socket, { expectResponse, pass }: ReturnType<typeof createFilter>): void {
  const { read, write } = socket;
  const readFiltered = (...size: [number?]): Buffer | null => {
    const chunk: Buffer | null = read.apply(socket, size);
    const rest = chunk === null ? null : pass(chunk);
    // undici waits after null, although more may have arrived.
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

function createFilter(headBytes: number) {
  /** Undefined while no response is about to begin. */
  let held: Buffer | undefined;
  return {
    expectResponse: () => {
      held ??= Buffer.alloc(0);
    },
    /** Empty if all bytes are skipped, or held until more arrive. */
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

/** Returns 0 if there is no interim response (101 is final), and undefined if more bytes are needed. */
function interimEnd(bytes: Buffer, headBytes: number): number | undefined {
  const start = bytes.toString('latin1', 0, 'HTTP/1.1 100'.length);
  const mayBeInterim = 'HTTP/1.1 1'.startsWith(start.slice(0, 10).replace('/1.0', '/1.1'));
  if (!mayBeInterim || start.endsWith(' 101')) return 0;
  const end = bytes.indexOf(headEnd);
  if (end >= 0) return end + headEnd.length;
  return bytes.length > headBytes ? 0 : undefined;
}
