import type { OtherArguments } from '../calls/outcome.js';
import { join, type SafeText, say } from '../util/safe-text.js';

/** A file of its own, because the server loads it at the start. */

/** A sentence with the arguments that are in no list. */
export const fieldsSentence = (also: OtherArguments | undefined): readonly SafeText[] =>
  also === undefined || also.fields.length === 0 ? [] : [say`Also: ${join(also.fields, ', ')}.`];
