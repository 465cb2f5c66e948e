import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** What documents refer to exists. Addresses on the web are not visited. */

const documents = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'bench/README.md',
  'test/README.md',
  'ui/README.md',
];

const withoutCode = (markdown: string) => markdown.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');
const read = (document: string) => withoutCode(readFileSync(document, 'utf8'));

/** The anchors of a document, made of its headings as GitHub makes them. */
const anchorsOf = (document: string) =>
  [...read(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Files and folders of this repository that a document names in code, such as `src/calls/read.ts` or `test/docs`. */
const pathsIn = (markdown: string) =>
  [...markdown.matchAll(/`((?:src|sandbox|test|scripts|bench|ui|examples|docs|deploy)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  );

describe.each(documents)('%s', (document) => {
  const markdown = read(document);

  test('links to files and headings that exist', () => {
    const prose = markdown.replaceAll(/`[^`\n]+`/g, 'code');
    const links = [
      ...[...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link),
      ...[...prose.matchAll(/(?:src|srcset|href)="([^"]+)"/g)].map(([, link = '']) => link),
    ];
    const broken = links
      .filter((link) => !link.startsWith('https://'))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? document : normalize(join(dirname(document), path));
        return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
      });
    expect(broken).toEqual([]);
  });

  test('names files that exist', () => {
    expect(pathsIn(markdown).filter((path) => !existsSync(path))).toEqual([]);
  });
});
