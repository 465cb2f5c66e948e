import type { Readable } from 'node:stream';
import { type MessageProblem, problemOfMessage } from '../mcp/message-problem.js';
import { isObject, parseJson } from '../util/objects.js';

/** Longer lines are not checked (bytes), because no call has as many. They keep no memory here. */
const longestLine = 256 * 1024;
const newline = 0x0a;

/**
 * Answers the requests on stdin whose `params` are no object, because the SDK's transport, which gets all lines as well, ignores them.
 * @param answer writes the error of a request with this ID
 * @returns stops listening
 */
export function answerInvalidRequests(
  stdin: Readable,
  answer: (id: string | number, problem: MessageProblem) => void,
): () => void {
  /** The end of the last chunk, if it is the beginning of a line. Undefined within a line that is too long. */
  let begun: Buffer | undefined = Buffer.alloc(0);
  const checkLine = (line: string) => {
    const message = parseJson(line);
    // The transport passes on a request whose `params` are an object.
    if (!isObject(message) || message.method === undefined || isObject(message.params)) return;
    const { id } = message;
    const problem = problemOfMessage(message);
    if (problem !== undefined && (typeof id === 'string' || typeof id === 'number')) answer(id, problem);
  };
  const onData = (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      if (begun !== undefined && begun.length + end <= longestLine)
        checkLine(Buffer.concat([begun, rest.subarray(0, end)]).toString('utf8'));
      begun = Buffer.alloc(0);
      rest = rest.subarray(end + 1);
    }
    if (begun !== undefined)
      begun = begun.length + rest.length > longestLine ? undefined : Buffer.concat([begun, rest]);
  };
  stdin.on('data', onData);
  return () => void stdin.off('data', onData);
}
