import { maximumValues, parseMessageText, readMessage } from '../mcp/read-message.js';
import { countValues } from '../util/objects.js';
import { HttpError } from './http-helpers.js';

/** Parses a body with one message. Values are counted first, because each costs memory. @throws HttpError */
export function parseMessage(body: Buffer): object {
  const text = body.toString('utf8');
  if (countValues(text, maximumValues) > maximumValues)
    throw new HttpError(413, 'values', `A message has ${maximumValues} values at most.`);
  const value = parseMessageText(text);
  if (value === undefined) throw new HttpError(400, 'json', 'The body is not JSON.');
  if (Array.isArray(value)) throw new HttpError(400, 'batch', 'Batches are not served: send one message.');
  const read = readMessage(value);
  if (read.kind === 'read') return read.message;
  throw new HttpError(400, 'json', read.answer.error.message, {}, read.answer);
}
