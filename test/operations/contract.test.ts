import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { contractProblems } from '../../src/operations/contract.js';
import { loadOperations } from '../../src/operations/load.js';
import { operations } from '../../src/tools/index.js';
import { changeWith, fileWith, lyingFiles } from './faulty.js';

/** Whatever an operation is given, no function of it throws, and nothing that was not sent is unknown. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-contract-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
/** What is wrong with the operations of a file that can be loaded. */
async function check(source: string) {
  count += 1;
  const path = join(folder, `platform-${count}.mjs`);
  writeFileSync(path, source);
  const loaded = await loadOperations(path);
  expect(loaded.problems).toEqual([]);
  return (await Promise.all(loaded.operations.map(contractProblems))).flat();
}

test.each(operations.map((operation) => [operation.name, operation] as const))('%s holds', async (_name, operation) => {
  expect(await contractProblems(operation)).toEqual([]);
});

describe('an operation from outside', () => {
  test.each([
    ['read', fileWith()],
    ['change', changeWith()],
  ])('holds: a %s', async (_kind, source) => {
    expect(await check(source)).toEqual([]);
  });

  test.each(lyingFiles)('does not: %s', async (_what, source, problem) => {
    expect((await check(source)).join('\n')).toMatch(problem);
  });
});
