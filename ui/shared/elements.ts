type Child = Node | string;

/**
 * Makes an element. Children that are text become text nodes: there is no way here to write HTML, so nothing that a service says
 * can become any.
 */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

/** The same for a drawing. */
export function svgElement(
  name: 'svg' | 'path' | 'rect' | 'line' | 'text',
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly Node[]
): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  made.append(...children);
  return made;
}

/** A quoted text, as the server quotes whatever comes from outside. */
const quoted = /("(?:[^"\\]|\\.)*")/;

/** A text of the server. What is quoted in it becomes an element of its own, whose direction cannot reach the words around it. */
export const shownText = (text: string): readonly Child[] =>
  text
    .split(quoted)
    .map((part, index) => (index % 2 === 1 ? element('bdi', {}, part) : part))
    .filter((part) => part !== '');

/** Replaces the text of an element only where it differs, so that a live region speaks once. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.replaceChildren(...shownText(text));
}

/** A section with a heading and a list; nothing where the list is empty. */
export function listSection(title: string, lines: readonly string[], className: string): readonly Node[] {
  if (lines.length === 0) return [];
  const items = lines.map((line) => element('li', { dir: 'auto' }, ...shownText(line)));
  return [element('section', { class: className }, element('h2', {}, title), element('ul', {}, ...items))];
}
