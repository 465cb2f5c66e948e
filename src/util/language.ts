import { lazy } from './objects.js';
import { type SafeText, translated } from './safe-text.js';
import { createTextTable } from './translate.js';

/** The languages of what people decide on. Results for agents, logs and the journal are in English. */
export const languages = ['en', 'ja'] as const;
export type Language = (typeof languages)[number];

export interface Translator {
  readonly translate: (text: SafeText) => SafeText;
  /** Names the language in the HTML of a view or a page, and gives it the table of its own words. */
  readonly inHtml: (html: string) => string;
}

export const english: Translator = { translate: (text) => text, inHtml: (html) => html };

export async function translatorFor(language: Language | undefined): Promise<Translator> {
  if (language !== 'ja') return english;
  const { default: texts } = await import('./japanese.json', { with: { type: 'json' } });
  const table = lazy(() => createTextTable({ ...texts.views, ...texts.server }));
  const data = JSON.stringify(texts.views).replaceAll('<', '\\u003c');
  return {
    translate: (text) => translated(text, table()),
    inHtml: (html) =>
      html
        .replace('<html lang="en">', '<html lang="ja">')
        .replace('<body>', () => `<body><script type="application/json" id="texts">${data}</script>`),
  };
}
