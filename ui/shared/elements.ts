import { humanDuration } from '../../src/util/human.js';
import { escapeQuoted } from '../../src/util/quote.js';
import type { FormatTime } from './appearance.js';
import { timeOf } from './read-fields.js';
import { t } from './texts.js';

type Child = Node | string;

/** Makes an element. Strings among the children become text nodes, so that text from a service is never read as HTML. */
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

export function svgElement(
  name: 'svg' | 'path' | 'rect' | 'line',
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly Node[]
): SVGElement {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, String(value));
  created.append(...children);
  return created;
}

/** Matches a value in quotation marks. cloudops-mcp quotes every text from outside, such as a name. */
const quoted = /("(?:[^"\\]|\\.)*")/;

/** Matches a time of cloudops-mcp in ISO 8601. */
const isoTime = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/**
 * Translates and splits a text of cloudops-mcp. Each quoted value becomes a `bdi` element, so that right-to-left text in it cannot reorder our
 * words. With `formatTime`, times between quoted values are written in the host's time zone.
 */
export const shownText = (text: string, formatTime?: FormatTime): readonly Child[] =>
  t(text)
    .split(quoted)
    // `split` puts the matches of the group in `quoted` at the odd indexes.
    .flatMap((part, index): readonly Child[] => {
      if (index % 2 === 1) return [element('bdi', {}, part)];
      if (formatTime === undefined) return [part];
      return part.split(isoTime).map((piece) => {
        const time = isoTime.test(piece) ? timeOf(piece) : undefined;
        return time === undefined ? piece : timeElement(time, formatTime);
      });
    })
    .filter((part) => part !== '');

/** A time with its age, such as "2 min ago". `refreshTimes` updates the age. */
function timeElement(time: number, formatTime: FormatTime): HTMLTimeElement {
  const shown = element('time', { datetime: new Date(time).toISOString() });
  shown.append(formatTime(time), element('span', { class: 'ago' }, agoText(time)));
  return shown;
}

/** Longer ago, the date says enough (seconds). */
const longestAgo = 24 * 3600;

const agoText = (time: number): string => {
  const seconds = (Date.now() - time) / 1000;
  return seconds < 0 || seconds > longestAgo ? '' : t(' ({0} ago)', t(humanDuration(seconds)));
};

/** Updates how long ago all times below an element were. */
export function refreshTimes(root: Element): void {
  for (const time of root.querySelectorAll('time')) {
    const ago = time.querySelector('.ago');
    if (ago !== null) ago.textContent = agoText(Date.parse(time.dateTime));
  }
}

/** Sets the text of an element. The same text is not set twice, because screen readers would announce it twice. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== t(text)) target.replaceChildren(...shownText(text));
}

/** Makes a section with a heading and a list. Empty if the list has no lines. */
export function listSection(title: string, lines: readonly (readonly Child[])[], className: string): readonly Node[] {
  if (lines.length === 0) return [];
  const items = lines.map((line) => element('li', { dir: 'auto' }, ...line));
  return [element('section', { class: className }, element('h2', {}, t(title)), element('ul', {}, ...items))];
}

/** Formats a name from outside. Only a plain path, such as `logs/2026.tar`, stands without quotation marks: other names could pass for our words. */
export const nameText = (name: string): string => (/^[\w./:@+=~-]+$/.test(name) ? name : `"${escapeQuoted(name)}"`);
