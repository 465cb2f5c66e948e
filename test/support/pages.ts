import { marked } from 'marked';

/** A page as GitHub and npm show it. */
export interface Page {
  /** Where its links and pictures go, as they are written. */
  readonly links: readonly string[];
  /** Returns the fragments (after `#`) that a link to the page may have. */
  readonly anchors: readonly string[];
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const unescaped = (html: string) => html.replaceAll(/&(#?\w+);/g, (all, name: string) => entities[name] ?? all);

/** Letters, digits and hyphens of a heading. A heading that is there twice gets a number. */
function anchorsOf(html: string): string[] {
  const slugs = [...html.matchAll(/<h[1-6]>(.*?)<\/h[1-6]>/gs)].map(([, heading = '']) =>
    unescaped(heading.replaceAll(/<[^>]+>/g, ''))
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return slugs.map((slug, index) => {
    const earlier = slugs.slice(0, index).filter((other) => other === slug).length;
    return earlier === 0 ? slug : `${slug}-${earlier}`;
  });
}

/** Renders Markdown that contains HTML, and returns its links. */
export function renderPage(markdown: string): Page {
  const html = marked.parse(markdown, { gfm: true, async: false });
  const links = [...html.matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)].map(([, link = '']) => unescaped(link));
  return { links, anchors: anchorsOf(html) };
}
