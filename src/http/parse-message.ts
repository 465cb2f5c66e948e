import { parseMessageText, readMessage } from '../mcp/read-message.js';
import { HttpError } from './http-helpers.js';

/** Maximum number of JSON values in a message. No call has as many. Even a value of a few bytes costs memory and time. */
const maximumValues = 5_000;

/**
 * Parses a body with one message. Refuses a batch (an array), because batches exist only in a protocol version that is not supported.
 * @throws HttpError
 */
export function parseMessage(body: Buffer): object {
  if (hasMoreValuesThan(maximumValues, body))
    throw new HttpError(413, 'values', `A message has ${maximumValues} values at most.`);
  const value = parseMessageText(body.toString('utf8'));
  if (value === undefined) throw new HttpError(400, 'json', 'The body is not JSON.');
  if (Array.isArray(value)) throw new HttpError(400, 'batch', 'Batches are not served: send one message.');
  const read = readMessage(value);
  if (read.kind === 'read') return read.message;
  const { id, error } = read.answer;
  throw new HttpError(400, 'json', error.message, {}, { id, code: error.code });
}

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * True if JSON has more than `maximum` values, found without parsing it. Counts the commas and opening brackets outside of strings, because
 * each value has a comma or a bracket before it. The result for text that is not JSON does not matter, because parsing refuses such text.
 */
export function hasMoreValuesThan(maximum: number, json: Buffer): boolean {
  let count = 0;
  let isString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    // Skips the escaped byte, which may be a quote.
    if (isString && byte === backslash) at += 1;
    else if (byte === quote) isString = !isString;
    else if (!isString && (byte === comma || byte === bracket || byte === brace)) count += 1;
    if (count > maximum) return true;
  }
  return false;
}
