import { Writable } from 'node:stream';
import { escapeJson } from '../util/quote.js';

/**
 * Creates the stream for messages to a client on stdout. Results have exact data, so characters that are invisible or change the reading order are
 * escaped here, where JSON leaves the process, and cannot mislead people who see the raw JSON.
 */
export const createEscapedOutput = (stdout: Writable): Writable =>
  new Writable({
    decodeStrings: false,
    write: (json, _encoding, done) => void stdout.write(escapeJson(String(json)), done),
  });
