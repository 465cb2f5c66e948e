import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Who may import whom (docs/ARCHITECTURE.md). Folders stand for what is in them; a leaf is a file that imports nothing of ours. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools', 'tools/shared'],
  'tools/shared': ['tools/shared'],
  signing: ['signing'],
  transport: ['transport', 'signing', 'log', 'trace'],
  call: ['call', 'tools', 'tools/shared', 'transport', 'signing', 'log', 'trace'],
  server: ['call', 'tools', 'tools/shared', 'serving'],
  serving: ['serving', 'server', 'call', 'log'],
  config: ['call', 'tools', 'tools/shared', 'transport', 'log'],
  sandbox: ['sandbox'],
  log: [],
  trace: [],
  telemetry: ['log', 'trace'],
};
/** The command line may import anything. */
const unrestricted = ['main', 'runtime', 'cli'];

/** `tools/shared/fields.ts` belongs to `tools/shared`, `config.ts` to `config`. */
const areaOf = (file: string) => (dirname(file) === '.' ? file.replace(/\.ts$/, '') : dirname(file));

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const imports = (file: string) =>
  [...readFileSync(join('src', file), 'utf8').matchAll(/(?:from|import)\s*\(?'([^']+)'/g)].map(([, path = '']) => path);

describe.each(files)('%s', (file) => {
  const area = areaOf(file);
  const paths = imports(file);

  test('imports only what its place allows', () => {
    if (unrestricted.includes(area)) return;
    const allowed = mayImport[area];
    expect(allowed, `no rule for ${area}`).toBeDefined();
    const own = paths
      .filter((path) => path.startsWith('.'))
      .map((path) => areaOf(normalize(join(dirname(file), path.replace(/\.js$/, '.ts')))));
    expect(own.filter((target) => !allowed?.includes(target))).toEqual([]);
  });

  if (area.startsWith('tools'))
    test('is pure: no SDK, network, clock or environment', () => {
      const packages = paths.filter((path) => !path.startsWith('.'));
      expect(packages.filter((name) => !['zod', 'node:net'].includes(name))).toEqual([]);
      const source = readFileSync(join('src', file), 'utf8');
      expect(source).not.toMatch(/\bprocess\b|\bfetch\(|Date\.now|new Date\(\)|Math\.random|setTimeout/);
    });

  if (area === 'sandbox')
    test('the sandbox knows nothing of the client it checks', () => {
      expect(paths.filter((path) => !path.startsWith('node:') && !path.startsWith('./'))).toEqual([]);
    });
});
