import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Imports point down this list (docs/ARCHITECTURE.md). A name is a folder or a file of `src`. */
const order = [
  'main',
  'cli',
  'runtime',
  'serving',
  'server',
  'resources',
  'prompts',
  'views',
  'config',
  'calls',
  'results',
  'consent',
  'journal',
  'transport',
  'signing',
  'tools',
  'tools/schema',
  'util',
];

/** `tools/schema/fields.ts` belongs to `tools/schema`, `server.ts` to `server`. */
const areaOf = (file: string) => (dirname(file) === '.' ? file.replace(/\.ts$/, '') : dirname(file));

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const importsOf = (path: string) =>
  [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?'([^']+)'/g)].map(([, name = '']) => name);

describe.each(filesIn('src'))('src/%s', (file) => {
  const area = areaOf(file);
  const imports = importsOf(join('src', file));

  test('imports only what is below it', () => {
    expect(order).toContain(area);
    const targets = imports
      .filter((path) => path.startsWith('.'))
      .map((path) => areaOf(normalize(join(dirname(file), path.replace(/\.js$/, '.ts')))))
      .filter((target) => target !== area && order.includes(target));
    expect(targets.filter((target) => order.indexOf(target) <= order.indexOf(area))).toEqual([]);
  });

  test('has fewer than 300 lines', () => {
    expect(readFileSync(join('src', file), 'utf8').split('\n').length).toBeLessThanOrEqual(301);
  });

  if (area.startsWith('tools'))
    test('is pure: no SDK, network, clock or environment', () => {
      const packages = imports.filter((path) => !path.startsWith('.'));
      expect(packages.filter((name) => !['zod', 'node:net'].includes(name))).toEqual([]);
      const source = readFileSync(join('src', file), 'utf8');
      expect(source).not.toMatch(/\bprocess\b|\bfetch\(|Date\.now|new Date\(\)|Math\.random|setTimeout/);
    });
});

describe.each(filesIn('sandbox'))('sandbox/%s', (file) => {
  const imports = importsOf(join('sandbox', file));

  test('knows nothing of the client that it checks', () => {
    const outside = imports.filter((path) =>
      path.startsWith('.')
        ? normalize(join('sandbox', dirname(file), path)).split('/')[0] !== 'sandbox'
        : !/^(zod\b|node:)/.test(path),
    );
    expect(outside).toEqual([]);
  });

  test('has fewer than 300 lines', () => {
    expect(readFileSync(join('sandbox', file), 'utf8').split('\n').length).toBeLessThanOrEqual(301);
  });
});
