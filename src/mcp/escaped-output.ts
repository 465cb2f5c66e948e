import { Writable } from 'node:stream';
import { escapeJson } from '../util/quote.js';

/** Creates the stream for messages on stdout. Invisible characters are escaped, so that they cannot mislead people who see the raw JSON. */
export const createEscapedOutput = (stdout: Writable): Writable =>
  new Writable({
    decodeStrings: false,
    write: (json, _encoding, done) => void stdout.write(escapeJson(String(json)), done),
  });
