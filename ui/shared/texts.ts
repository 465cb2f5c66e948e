import { lazy } from '../../src/util/objects.js';
import { createTextTable, translateWords } from '../../src/util/translate.js';

/** The server puts the table into the HTML. There is none for English, and none without a page. */
const table = lazy(() =>
  createTextTable(JSON.parse(globalThis.document?.getElementById('texts')?.textContent ?? '{}')),
);

/** Puts our own words into the language of the page. `values` replace `{0}`, `{1}` and so on. */
export const t = (words: string, ...values: readonly string[]): string => translateWords(table(), words, ...values);

/** The language of the page, for dates. Undefined for the browser's own. */
export const pageLanguage = (): string | undefined =>
  document.documentElement.lang === 'en' ? undefined : document.documentElement.lang;
