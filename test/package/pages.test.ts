import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { renderPage } from '../support/pages.js';

/** The pages of the package: README.md as npm shows it, and all of them as somebody reads them in the package's folder. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-pages-'));
const unpacked = join(folder, 'package');
beforeAll(() => {
  execFileSync('tar', ['xzf', inject('tarball'), '-C', folder]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * The source that ARCHITECTURE describes is there only. Help and `cloudops://reference/{operation}` say what TOOLS does. The page at npm loads the
 * moving picture from GitHub.
 */
const onlyInRepository = ['docs/ARCHITECTURE.md', 'docs/TOOLS.md', 'docs/pictures/terminal.svg'];

const inPackage = (path: string) => join(unpacked, path);
const pageAt = (path: string) => renderPage(readFileSync(path, 'utf8'));
const pages = [
  ...['README.md', 'CHANGELOG.md', 'CODE_OF_CONDUCT.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md') && !onlyInRepository.includes(`docs/${name}`))
    .map((name) => `docs/${name}`),
];

const [, owner = '', name = ''] = /github\.com\/([^/]+)\/([^/]+)\.git$/.exec(packageJson.repository.url) ?? [];
const release = `v${packageJson.version}`;
const prefixes = [
  `https://github.com/${owner}/${name}/blob/${release}/`,
  `https://raw.githubusercontent.com/${owner}/${name}/${release}/`,
];
/** The path in the repository that an address of this release names. */
const pathOf = (link: string) =>
  prefixes.filter((prefix) => link.startsWith(prefix)).map((prefix) => link.slice(prefix.length))[0];

/** Whether a link to a file, perhaps to a heading of it, leads somewhere below a folder. */
function leads(root: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = join(root, path);
  return existsSync(target) && (anchor === undefined || pageAt(target).anchors.includes(anchor));
}

test('all pages are in the package', () => {
  expect(pages.filter((page) => !existsSync(inPackage(page)))).toEqual([]);
  expect(onlyInRepository.filter((page) => existsSync(inPackage(page)))).toEqual([]);
});

describe('README.md as npm shows it', () => {
  test('has absolute links and pictures only', () => {
    expect(pageAt(inPackage('README.md')).links.filter((link) => !link.startsWith('https://'))).toEqual([]);
  });

  test('leads to what is in this release, on GitHub and in the package', () => {
    const ours = pageAt(inPackage('README.md')).links.flatMap((link) => pathOf(link) ?? []);
    expect(ours.length).toBeGreaterThan(10);
    expect(ours.filter((link) => !leads('.', link))).toEqual([]);
    const packed = ours.filter((link) => !onlyInRepository.includes(link.split('#')[0] ?? ''));
    expect(packed.filter((link) => !leads(unpacked, link))).toEqual([]);
  });

  test('shows pictures from where GitHub has the files themselves', () => {
    const pictures = pageAt(inPackage('README.md')).links.filter((link) => /\.(?:png|svg)$/.test(link));
    expect(pictures.length).toBeGreaterThan(0);
    expect(pictures.filter((link) => !link.startsWith('https://raw.githubusercontent.com/'))).toEqual([]);
  });

  test('is otherwise the one of the repository, which stays as it was', () => {
    const shown = prefixes.reduce(
      (text, prefix) => text.replaceAll(prefix, ''),
      readFileSync(inPackage('README.md'), 'utf8'),
    );
    expect(shown).toBe(readFileSync('README.md', 'utf8'));
  });
});

test.each(pages.slice(1))('%s leads to nothing that the package lacks', (page) => {
  const links = pageAt(inPackage(page)).links.filter((link) => !link.startsWith('https://'));
  const fromRoot = links.map((link) => (link.startsWith('#') ? page + link : normalize(join(dirname(page), link))));
  expect(fromRoot.filter((link) => !leads(unpacked, link))).toEqual([]);
});
