import type { OtherArguments } from '../calls/outcome.js';
import { join, type SafeText, say } from '../util/safe-text.js';

/** A file of its own, because the server loads it at the start, and other-arguments.ts only with the first call. */

/** A sentence with the arguments that are in no list. Plans show lists separately. Empty without arguments. */
export const fieldsSentence = (also: OtherArguments | undefined): readonly SafeText[] =>
  also === undefined || also.fields.length === 0 ? [] : [say`Also: ${join(also.fields, ', ')}.`];
