import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { renderPage } from '../support/pages.js';

/** What documents refer to exists, as GitHub shows them. Addresses on the web are not visited. */

const documents = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'bench/README.md',
  'eval/README.md',
  ...readdirSync('skills').map((name) => `skills/${name}/SKILL.md`),
  'test/README.md',
  'ui/README.md',
];
const read = (document: string) => readFileSync(document, 'utf8');

/** Files and folders of this repository that a document names in code, such as `src/calls/run-read.ts` or `test/docs`. */
const pathsIn = (markdown: string) =>
  [
    ...markdown
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
      .matchAll(/`((?:src|sandbox|test|scripts|bench|eval|ui|examples|docs|deploy)\/[\w./-]*)`/g),
  ].map(([, path = '']) => path);

test('every picture is on a page', () => {
  const shown = documents.flatMap((document) =>
    renderPage(read(document)).links.map((link) => normalize(join(dirname(document), link))),
  );
  const pictures = readdirSync('docs/pictures').map((name) => join('docs/pictures', name));
  expect(pictures.filter((picture) => !shown.includes(picture))).toEqual([]);
});

describe.each(documents)('%s', (document) => {
  const markdown = read(document);
  const { links } = renderPage(markdown);

  test('links to files and headings that exist', () => {
    const broken = links
      .filter((link) => !link.startsWith('https://'))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? document : normalize(join(dirname(document), path));
        return (
          !existsSync(target) || (anchor !== undefined && !renderPage(read(target)).anchors.includes(decodeURI(anchor)))
        );
      });
    expect(broken).toEqual([]);
  });

  test('links to this repository by path, or to a page that only GitHub has', () => {
    const [repository = ''] = packageJson.homepage.split('#');
    const ours = links.filter((link) => link.startsWith(repository));
    const ci = `${repository}/actions/workflows/ci.yml`;
    const pages = [packageJson.bugs.url, `${repository}/security/advisories/new`, ci, `${ci}/badge.svg?branch=main`];
    expect(ours.filter((link) => !pages.includes(link))).toEqual([]);
  });

  test('names files that exist', () => {
    expect(pathsIn(markdown).filter((path) => !existsSync(path))).toEqual([]);
  });
});
