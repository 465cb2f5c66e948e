import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runServer } from '../support/server-process.js';
import { fileWith } from './faulty.js';

/** Files of operations in TypeScript, on a Node.js that removes types, and on one that does not. */

const removesTypes = Boolean(Object(process.features).typescript);

const folder = mkdtempSync(join(tmpdir(), 'cloudops-typescript-'));
const source = `import type { OperationsModule } from 'cloudops-mcp/operation';
type Module = OperationsModule;
${fileWith().replace('export default (kit)', 'const module: Module = (kit)')}
export default module;
`;
const names = ['things.ts', 'things.mts'];
beforeAll(() => {
  for (const name of names) writeFileSync(join(folder, name), source);
  // Types of an editor are no operations.
  writeFileSync(join(folder, 'things.d.ts'), 'export {};');
});
afterAll(() => rmSync(folder, { recursive: true }));

const check = (path: string, options = '') =>
  runServer(['operations', 'check', path], { env: { NODE_OPTIONS: options } });

describe.runIf(removesTypes)('on a Node.js that removes types', () => {
  test.each(names)('%s is loaded', async (name) => {
    const { code, stdout } = await check(join(folder, name));
    expect(stdout).toMatch(/^get_thing: [\s\S]*\noperations: 1, problems: 0\n$/);
    expect(code).toBe(0);
  });

  test('a folder has its files in TypeScript, without declarations', async () => {
    const { stdout } = await check(folder);
    // Both files have the same operation.
    expect(stdout).toMatch(/things\.ts: operation 1 \(get_thing\): name: is taken/);
    expect(stdout).not.toContain('things.d.ts');
  });
});

describe('on a Node.js that does not', () => {
  const options = removesTypes ? '--no-experimental-strip-types' : '';

  test.each(names)('%s is refused, and the reason says what to do', async (name) => {
    const { code, stdout } = await check(join(folder, name), options);
    expect(stdout).toContain(
      `${name}: this version of Node.js does not load TypeScript: use Node.js 22.18 or later, or JavaScript.`,
    );
    expect(code).toBe(1);
  });

  test('a server does not start with it', async () => {
    const env = { CLOUDOPS_OPERATIONS: join(folder, 'things.ts'), NODE_OPTIONS: options };
    const { code, stderr } = await runServer([], { env });
    expect(stderr).toMatch(
      /^cloudops-mcp cannot start: CLOUDOPS_OPERATIONS: things\.ts: this version of Node\.js does not/m,
    );
    expect(code).toBe(2);
  });
});
