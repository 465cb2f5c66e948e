import { Transform } from 'node:stream';
import {
  type ErrorAnswer,
  errorAnswer,
  invalidRequest,
  notJson,
  parseMessageText,
  type ReadMessage,
  readMessage,
} from './read-message.js';

/** This file reads the lines of a client on stdin, each with a message or a batch of messages, before the SDK's transport gets them. */

/** The longest line (bytes). */
const longestLine = 10 * 1000 * 1000;
/** The beginning of a longer line in which its ID is looked for (bytes). */
const headLength = 1000;

const newline = 10;

export interface LineProblems {
  /** Sends the answer to a message that cannot be read. */
  readonly answer: (answer: ErrorAnswer) => void;
  /** Called for each line that is too long. */
  readonly onTooLong: () => void;
}

/**
 * Creates a stream that takes what a client writes and gives one line for each message that can be read. Answers what cannot be read. A line that is
 * longer than `longestLine` is skipped, and takes no more memory than that.
 */
export function createMessageLines({ answer, onTooLong }: LineProblems): Transform {
  let parts: Buffer[] = [];
  let length = 0;

  const take = (part: Buffer): void => {
    length += part.length;
    if (length <= longestLine) parts.push(part);
    // The beginning stays, because it usually has the ID.
    else parts = [Buffer.concat([...parts, part.subarray(0, headLength)]).subarray(0, headLength)];
  };

  /** Ends a line, and returns its messages. */
  const endLine = (): readonly ReadMessage[] => {
    const text = Buffer.concat(parts).toString('utf8');
    const isTooLong = length > longestLine;
    parts = [];
    length = 0;
    if (!isTooLong) return readLine(text);
    onTooLong();
    return tooLong(text);
  };

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, at));
        for (const read of endLine()) {
          if (read.kind === 'read') this.push(`${JSON.stringify(read.message)}\n`);
          else if (read.isAnswered) answer(read.answer);
        }
        from = at + 1;
      }
      if (from < chunk.length) take(chunk.subarray(from));
      done();
    },
  });
}

function readLine(text: string): readonly ReadMessage[] {
  if (text.trim() === '') return [];
  const value = parseMessageText(text);
  if (value === undefined) return [notJson];
  // In protocol 2025-03-26, a client may send several messages as a list.
  const messages: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
  return messages.map(readMessage);
}

/** The answer to a line that is too long, if it has an ID. Without one, it may be a notification or a response. */
function tooLong(head: string): readonly ReadMessage[] {
  const id = idIn(head);
  if (id === undefined) return [];
  const answer = errorAnswer(id, invalidRequest, `A message must not be longer than ${longestLine} bytes.`);
  return [{ kind: 'invalid', answer, isAnswered: true }];
}

/** Finds the ID in the beginning of a request that is not parsed. */
function idIn(head: string): string | number | undefined {
  const [, id] = /"id"\s*:\s*("[^"\\]*"|\d{1,15})/.exec(head) ?? [];
  if (id === undefined) return undefined;
  return id.startsWith('"') ? id.slice(1, -1) : Number(id);
}
