import { expect, test } from 'vitest';
import { instructionsFor } from '../../src/mcp/instructions.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';

/** What the server's instructions say about changes that its own tools do not have. */

const accounts = { all: [], byDefault: undefined, areNamed: false };
const changeWith = (change: Partial<ChangeTexts>, more: Partial<Operation> = {}): Operation => {
  const operation: Operation = restoreInstance;
  if (operation.change === undefined) throw new Error('it is no change');
  return { ...operation, ...more, change: { ...operation.change, ...change } };
};

test.each([
  ['a change without a read that follows it', {}, true],
  ['a change that has ended', { continues: false }, false],
])('%s: no read of its progress is declared', (_what, change, isSaid) => {
  expect(instructionsFor([changeWith(change)], accounts).includes('no read shows their progress')).toBe(isSaid);
});

test('a change whose file names a read is not said to have none', () => {
  const follow = { read: 'GetInstance', arguments: {} };
  expect(instructionsFor([changeWith({}, { follow })], accounts)).not.toContain('no read shows their progress');
});
