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

/** This file reads the lines of a client on stdin before the SDK's transport gets them. */

/** The longest line (bytes). */
const longestLine = 10 * 1000 * 1000;
/** The beginning of a longer line (bytes). */
const headLength = 1000;

const newline = 10;

interface LineProblems {
  readonly answer: (answer: ErrorAnswer) => void;
  readonly onTooLong: () => void;
}

/** Creates a stream that gives one line for each readable message. A line longer than `longestLine` takes no more memory than that. */
export function createMessageLines({ answer, onTooLong }: LineProblems): Transform {
  let parts: Buffer[] = [];
  let length = 0;

  const take = (part: Buffer): void => {
    length += part.length;
    if (length <= longestLine) parts.push(part);
    else parts = [Buffer.concat([...parts, part.subarray(0, headLength)]).subarray(0, headLength)];
  };

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
  // Protocol 2025-03-26 allows several messages as a list.
  const messages: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
  return messages.map(readMessage);
}

/** Without an ID, the line may be a notification or a response. */
function tooLong(head: string): readonly ReadMessage[] {
  const id = idIn(head);
  if (id === undefined) return [];
  const answer = errorAnswer(id, invalidRequest, `A message must not be longer than ${longestLine} bytes.`);
  return [{ kind: 'invalid', answer, isAnswered: true }];
}

function idIn(head: string): string | number | undefined {
  const [, id] = /"id"\s*:\s*("[^"\\]*"|\d{1,15})/.exec(head) ?? [];
  if (id === undefined) return undefined;
  return id.startsWith('"') ? id.slice(1, -1) : Number(id);
}
