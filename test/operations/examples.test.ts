import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { contractProblems } from '../../src/operations/contract.js';
import { loadOperations } from '../../src/operations/load.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';
import { openPolicy } from '../support/operations.js';

/** The files that documents give to those who write operations of their own. */

const examples = 'examples/operations';
const folder = mkdtempSync(join(tmpdir(), 'cloudops-examples-'));
afterAll(() => rmSync(folder, { recursive: true }));

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
});
afterAll(() => sandbox.close());

describe.each(readdirSync(examples).filter((name) => name.endsWith('.mjs')))('%s', (name) => {
  const path = join(examples, name);

  test('has at most 60 lines', () => {
    expect(readFileSync(path, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  test('holds the contract, and its example succeeds on the sandbox', async () => {
    const { operations, problems } = await loadOperations(path);
    expect(problems).toEqual([]);
    const { call, close } = testCaller('', { cloud: sandbox.cloud, policy: openPolicy });
    for (const operation of operations) {
      expect(await contractProblems(operation)).toEqual([]);
      const result = await call(operation, operation.example, { signal: never });
      expect(result.ok, result.text).toBe(true);
    }
    await close();
  });
});

test('the lifecycle example names the element of a list that breaks a condition', async () => {
  const { operations } = await loadOperations(join(examples, 'put-bucket-lifecycle.mjs'));
  const { call, close } = testCaller('http://127.0.0.1:1', { policy: openPolicy });
  const rule = { id: 'a', prefix: 'b', days: 1 };
  const [operation] = operations;
  if (operation === undefined) throw new Error('there is none');
  const result = await call(operation, { bucket: 'b', rules: [rule, rule] }, { signal: never });
  expect(result).toMatchObject({
    failure: { code: 'InvalidArguments', problems: ['rules[1].id: "a" is the name of an earlier rule'] },
  });
  await close();
});

test('the file of docs/OPERATIONS.md holds the contract, and sends what its page says', async () => {
  const [, source = ''] = /```js\n([\s\S]*?)```/.exec(readFileSync('docs/OPERATIONS.md', 'utf8')) ?? [];
  const path = join(folder, 'platform.mjs');
  writeFileSync(path, source);
  const { operations, problems } = await loadOperations(path);
  expect(problems).toEqual([]);
  const [operation] = operations;
  if (operation === undefined) throw new Error('there is none');
  expect(await contractProblems(operation)).toEqual([]);
  const server = await startServer((_request, response) =>
    response.end('{"invoiceId": "inv-2026-11", "total": 1200, "currency": "JPY"}'),
  );
  const { call, close } = testCaller('', { cloud: { endpoints: { billing: server.origin } }, policy: openPolicy });
  const result = await call(operation, operation.example, { signal: never });
  expect(result.text).toContain('Invoice "inv-2026-11" is over 1200 "JPY".');
  expect(server.requests).toMatchObject([{ method: 'GET', url: '/v1/invoices/inv-2026-11' }]);
  expect(server.requests[0]?.headers.authorization).toContain('/jp-east-1/billing/aws4_request');
  await close();
  await server.close();
});
