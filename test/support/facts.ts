import { quote } from '../../src/util/quote.js';
import { isSafeText } from '../../src/util/safe-text.js';

/** Every value at the end of a branch, without those that say nothing. */
const facts = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null && !isSafeText(value)
    ? Object.values(value).flatMap(facts)
    : String(value) === '' || value === undefined
      ? []
      : [value];

/** The facts of a structured answer that its text does not carry. True and false are words in the text of an error. */
export const missingFrom = (text: string, structured: unknown): unknown[] =>
  facts(structured).filter(
    (fact) => typeof fact !== 'boolean' && !text.includes(String(fact)) && !text.includes(quote(String(fact), 2000)),
  );
