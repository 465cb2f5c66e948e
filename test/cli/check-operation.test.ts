import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkOperation, exampleAnswer } from '../../src/cli/check-operation.js';
import { exampleOf } from '../../src/tools/define-operation.js';
import { operations } from '../../src/tools/index.js';
import { changeWith, fileWith, lyingFiles } from '../operations/faulty.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';
import { loadPatiently } from '../support/load-operations.js';
import { openPolicy } from '../support/operations.js';

/** Whatever an operation is given, no function of it throws, and nothing that was not sent is unknown. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-contract-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
/** The operations of a file that can be loaded. */
async function operationsOf(source: string) {
  count += 1;
  const path = join(folder, `platform-${count}.mjs`);
  writeFileSync(path, source);
  const loaded = await loadPatiently(path);
  expect(loaded.problems).toEqual([]);
  return loaded.operations;
}

const check = async (source: string) => (await Promise.all((await operationsOf(source)).map(checkOperation))).flat();

test.each(operations.map((operation) => [operation.name, operation] as const))('%s holds', async (_name, operation) => {
  expect(await checkOperation(operation)).toEqual([]);
});

describe('an operation from outside', () => {
  test.each([
    ['read', fileWith()],
    ['change', changeWith()],
    ['read with a query', fileWith("request: () => ({ path: '/things', query: { limit: '1', token: undefined } })")],
    [
      'read with lists of long texts, whose largest JSON would fill the memory',
      fileWith(
        "input: () => kit.z.strictObject({ id: kit.z.string().optional().describe('Its ID.'), rows: kit.z.array(kit.z.strictObject({ names: kit.z.array(kit.z.string()).describe('Names.') })).optional().describe('Rows.') }), request: () => ({ path: '/things' })",
      ),
    ],
  ])('holds: a %s', async (_kind, source) => {
    expect(await check(source)).toEqual([]);
  });

  test.each([
    ['with a made-up secret', 'kit.fields.text(99)', /^outcome: accepted$/m],
    [
      'not, if no made-up secret is valid',
      'kit.fields.characters(3, 4, "[a-z]", "lowercase letters")',
      /^It is not shown/,
    ],
  ])('whose example names a secret is answered %s', async (_how, rule, answer) => {
    const secret = `secrets: ['key'], secretNames: { keyName: 'key' }, example: { keyName: 'mine' },
      input: () => kit.z.strictObject({ keyName: kit.fields.text(9).optional().describe('Name.'),
        key: ${rule}.optional().describe('Key.'), ...kit.fields.consentArguments() })`;
    const [operation] = await operationsOf(changeWith(secret));
    if (operation === undefined) throw new Error('the file has no operation');
    const text = (await exampleAnswer(operation, { ...exampleOf(operation) }, [])).join('\n');
    expect(text).toMatch(answer);
    expect(text).not.toMatch(/failed|was not sent/);
  });

  test('has one problem for a text that is a plain string in every call', async () => {
    expect(await check(fileWith("summarize: (_, { id }) => 'Thing ' + id"))).toHaveLength(1);
  });

  test('sends the request that was checked, whatever it says when it is looked at again', async () => {
    const source = fileWith(
      "request: () => { let at = 0; return { get path() { return ['/ok', '/../x?y'][at++] ?? '/z'; } }; }",
    );
    const server = await startServer((_request, response) => response.end('{}'));
    const { call, close } = testCaller('', { cloud: { endpoints: { things: server.origin } }, policy: openPolicy });
    for (const operation of await operationsOf(source)) await call(operation, operation.example, { signal: never });
    expect(server.requests.map(({ url }) => url)).toEqual(['/ok']);
    await close();
    await server.close();
  });

  test.each(lyingFiles)('does not: %s', async (_what, source, problem) => {
    expect((await check(source)).join('\n')).toMatch(problem);
  });

  test.each(lyingFiles)(
    'neither ends a call without an answer nor makes its outcome unknown: %s',
    async (_what, source) => {
      const server = await startServer((_request, response) => response.end('{"thing": {"name": "a"}}'));
      const { call, close } = testCaller('', { cloud: { endpoints: { things: server.origin } }, policy: openPolicy });
      for (const operation of await operationsOf(source)) {
        const result = await call(operation, operation.example, { signal: never });
        if (operation.effect !== 'read') {
          const wasSent = server.requests.length > 0;
          expect(result).toMatchObject(wasSent ? { ok: true } : { ok: false, failure: { mayHaveHappened: false } });
        }
      }
      await close();
      await server.close();
    },
  );
});
