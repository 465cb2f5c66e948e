import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { checkOperation } from '../../src/cli/check-operation.js';
import { hostRules } from '../../src/cli/load-operation-files.js';
import { loadOperations } from '../../src/operations/load-operations.js';
import { never, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';

/** The files that documents give to those who write operations of their own. */

const examples = 'examples/operations';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
});
afterAll(() => sandbox.close());

describe.each(readdirSync(examples).filter((name) => /\.(?:mjs|operations\.json)$/.test(name)))('%s', (name) => {
  const path = join(examples, name);

  test('has at most 60 lines', () => {
    expect(readFileSync(path, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  test('holds the contract, and its example succeeds on the sandbox', async () => {
    const { operations, problems } = await loadOperations(path, hostRules);
    expect(problems).toEqual([]);
    const { call, close } = testCaller('', { cloud: sandbox.cloud, policy: openPolicy });
    for (const operation of operations) {
      expect(await checkOperation(operation)).toEqual([]);
      const result = await call(operation, operation.example, { signal: never });
      expect(result.ok, result.text).toBe(true);
    }
    await close();
  });
});

test('the lifecycle example names the element of a list that breaks a condition', async () => {
  const { operations } = await loadOperations(join(examples, 'put-bucket-lifecycle.mjs'), hostRules);
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
