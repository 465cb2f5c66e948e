import { join, type SafeText, say } from '../util/safe-text.js';
import type { OtherArguments } from './other-arguments.js';

/** This sentence is not in other-arguments.ts, because the server loads that file only with the first call, and this file at its start. */

/** The arguments that are in no list, in a sentence. Lists are not in it, because a plan shows them in tables. Empty without arguments. */
export const fieldsSentence = (also: OtherArguments | undefined): readonly SafeText[] =>
  also === undefined || also.fields.length === 0 ? [] : [say`Also: ${join(also.fields, ', ')}.`];
