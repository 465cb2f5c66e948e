import { pathToFileURL } from 'node:url';
import { textAt } from '../util/objects.js';

/** Lines of a stack that are of no file: code of Node, and the script in which functions of files are called. */
const ofNoFile = /\((?:node:|<anonymous>|evalmachine\.)|at (?:async )?(?:node:|<anonymous>|evalmachine\.)|\(native\)/;

/**
 * True for an error of code that is not of this package, which throws nothing but errors: of a file of operations, or of what that imports.
 * @param script path of the file that Node runs, in the folder of all others of the package
 */
export function isForeign(error: unknown, script: string): boolean {
  if (!(error instanceof Error) || textAt(error, 'code') === 'ERR_UNHANDLED_REJECTION') return true;
  const home = new URL('.', pathToFileURL(script)).href;
  const lines = (error.stack ?? '').split('\n');
  return lines.some((line) => /^ +at .*:\d+:\d+\)?$/.test(line) && !line.includes(home) && !ofNoFile.test(line));
}
