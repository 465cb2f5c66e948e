import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mocking } from '../vitest.config.js';

/** Imports point down this list (docs/ARCHITECTURE.md). A name is a folder or a file of `src`. */
const order = [
  'main',
  'cli',
  'runtime',
  'http',
  'server',
  'mcp',
  'config',
  'observe',
  'call-stack',
  'changes',
  'calls',
  'transport',
  'signing',
  'models',
  'tools',
  'util',
];

const folders = ['src', 'ui', 'sandbox', 'bench', 'scripts', 'examples', 'eval'];
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .map((file) => join(folder, file)),
);

/** The folder of `src`, the loose file of it, or the top folder that a file belongs to. */
function roomOf(file: string): string {
  const [top = '', inner = ''] = file.split('/');
  return top === 'src' ? inner.replace(/\.ts$/, '') : top;
}

/** Every name that a file imports, types included. Scripts name files of the source in lines that they bundle. */
const namesIn = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) => name);

/** The files of this repository that a file imports. */
function importsOf(file: string): string[] {
  return namesIn(file).flatMap((name) => {
    if (!name.startsWith('.')) return [];
    const beside = normalize(join(dirname(file), name));
    const candidates = [beside.replace(/\.js$/, '.ts'), beside];
    return candidates.filter((candidate) => files.includes(candidate)).slice(0, 1);
  });
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

/** Each room with the other rooms that it imports. */
const rooms = new Map<string, Set<string>>();
for (const [file, targets] of imports) {
  const room = roomOf(file);
  const below = rooms.get(room) ?? new Set();
  for (const target of targets) if (roomOf(target) !== room) below.add(roomOf(target));
  rooms.set(room, below);
}

describe('the house', () => {
  test('has no circle of files, types included', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (path.includes(file) || done.has(file)) return;
      for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });

  test('names every room of src in the order', () => {
    const known = [...order, ...folders].sort();
    expect([...rooms.keys()].filter((room) => !known.includes(room))).toEqual([]);
  });

  test('removes no listener by the option `signal`, which Node forgets at a garbage collection (util/time-limit.ts)', () => {
    const byOption = /\.addEventListener\([^;]*\{[^}]*\bsignal\b/;
    expect(files.filter((file) => file.startsWith('src/') && byOption.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  test('has src import nothing of ui', () => {
    const importers = [...rooms].filter(([room, below]) => order.includes(room) && below.has('ui'));
    expect(importers.map(([room]) => room)).toEqual([]);
  });
});

describe.each(files.filter((file) => file.startsWith('src/')))('%s', (file) => {
  const room = roomOf(file);

  test('imports only what is below it', () => {
    const targets = (imports.get(file) ?? []).filter((target) => target.startsWith('src/') && roomOf(target) !== room);
    expect(targets.filter((target) => order.indexOf(roomOf(target)) <= order.indexOf(room))).toEqual([]);
  });

  if (room === 'tools')
    test('is pure: no SDK, network, clock or environment', () => {
      const packages = namesIn(file).filter((name) => !name.startsWith('.'));
      expect(packages.filter((name) => !['zod', 'node:net'].includes(name))).toEqual([]);
      const source = readFileSync(file, 'utf8');
      expect(source).not.toMatch(/\bprocess\b|\bfetch\(|Date\.now|new Date\(\)|Math\.random|setTimeout/);
    });
});

describe.each(files.filter((file) => file.startsWith('sandbox/')))('%s', (file) => {
  test('knows nothing of the client that it checks', () => {
    const outside = namesIn(file).filter((name) =>
      name.startsWith('.') ? roomOf(normalize(join(dirname(file), name))) !== 'sandbox' : !/^(zod\b|node:)/.test(name),
    );
    expect(outside).toEqual([]);
  });
});

describe('a name in src', () => {
  const ours = files.filter((file) => file.startsWith('src/'));
  const repeated = (names: readonly string[]) => names.filter((name, index) => names.indexOf(name) !== index);

  test('belongs to one export', () => {
    const exported = /^export (?:abstract |async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
    const names = ours.flatMap((file) => {
      // An overloaded function is one export, and so is a schema with the type that it describes.
      return [...new Set([...readFileSync(file, 'utf8').matchAll(exported)].map(([, name = '']) => name))];
    });
    expect(repeated(names)).toEqual([]);
    expect(names.length).toBeGreaterThan(500);
  });

  test('belongs to one file', () => {
    expect(repeated(ours.map((file) => basename(file)).filter((name) => name !== 'index.ts'))).toEqual([]);
  });
});

test('a test that replaces modules or loads them afresh runs in the project with module graphs of its own', () => {
  const replaces = /\bvi\s*\.(mock|doMock|resetModules)\(/;
  const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.process)\.test\.ts$/.test(name))
    .map((name) => join('test', name));
  expect(tests.filter((file) => replaces.test(readFileSync(file, 'utf8'))).toSorted()).toEqual(mocking.toSorted());
});

test('reads imports at all', () => {
  expect(existsSync('src/server.ts')).toBe(true);
  expect(imports.get('src/server.ts')?.length).toBeGreaterThan(5);
});
