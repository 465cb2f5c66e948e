import { HttpError } from './http-helpers.js';

/** Maximum number of values in a message, more than any call has. Even a value of few bytes costs memory and time after parsing. */
const maximumValues = 5_000;

/**
 * Parses the one message of a body. Batches exist only in a protocol version that is not supported.
 * @throws HttpError
 */
export function parseMessage(body: Buffer): object {
  if (hasMoreValuesThan(maximumValues, body))
    throw new HttpError(413, 'values', `A message has ${maximumValues} values at most.`);
  let message: unknown;
  try {
    message = JSON.parse(body.toString('utf8'));
  } catch {
    throw new HttpError(400, 'json', 'The body is not JSON.');
  }
  if (Array.isArray(message)) throw new HttpError(400, 'batch', 'Batches are not served: send one message.');
  if (typeof message !== 'object' || message === null) throw new HttpError(400, 'json', 'The body is not a message.');
  return message;
}

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * True if JSON has more than `maximum` values. Counts the commas and opening brackets outside of strings, because a comma or bracket
 * stands before each value. For text that is not JSON, the result means nothing, because parsing will refuse it.
 */
export function hasMoreValuesThan(maximum: number, json: Buffer): boolean {
  let count = 0;
  let isString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (isString && byte === backslash) at += 1;
    else if (byte === quote) isString = !isString;
    else if (!isString && (byte === comma || byte === bracket || byte === brace)) count += 1;
    if (count > maximum) return true;
  }
  return false;
}
