import type { TimedText } from '../../src/mcp/views/contract/read-fields.js';
import { escapeQuoted } from '../../src/util/quote.js';
import type { FormatTime } from './appearance.js';

type Child = Node | string;

/**
 * Makes an element. Text children become text nodes and never HTML, so text from a service cannot inject any.
 */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.append(...children);
  return created;
}

/** Makes an SVG element. */
export function svgElement(
  name: 'svg' | 'path' | 'rect' | 'line' | 'text',
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly Node[]
): SVGElement {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, String(value));
  created.append(...children);
  return created;
}

/** Matches a quoted value. The server quotes all text from outside. */
const quoted = /("(?:[^"\\]|\\.)*")/;

/** Splits a text of the server. Each quoted value becomes its own element, so that right-to-left text in it cannot reorder our words. */
export const shownText = (text: string): readonly Child[] =>
  text
    .split(quoted)
    .map((part, index) => (index % 2 === 1 ? element('bdi', {}, part) : part))
    .filter((part) => part !== '');

/** Shows a text of the server with its times in the zone of the host. */
export const shownTimedText = (text: TimedText, formatTime: FormatTime): readonly Child[] =>
  (typeof text === 'string' ? [text] : text).flatMap((piece) =>
    typeof piece === 'number' ? [formatTime(piece)] : shownText(piece),
  );

/** Replaces the text of an element only if it differs, so that a live region is announced once. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.replaceChildren(...shownText(text));
}

/** Makes a section with a heading and a list, or nothing if the list is empty. */
export function listSection(title: string, lines: readonly (readonly Child[])[], className: string): readonly Node[] {
  if (lines.length === 0) return [];
  const items = lines.map((line) => element('li', { dir: 'auto' }, ...line));
  return [element('section', { class: className }, element('h2', {}, title), element('ul', {}, ...items))];
}

/** A name from outside. Any name but a plain path is quoted, so that it cannot be mistaken for our own words. */
export const nameText = (name: string): string => (/^[\w./:@+=~-]+$/.test(name) ? name : `"${escapeQuoted(name)}"`);
