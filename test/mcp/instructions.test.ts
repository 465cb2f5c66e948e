import { expect, test } from 'vitest';
import { consentModes } from '../../src/calls/account.js';
import { mayConfirm } from '../../src/changes/required-consent.js';
import { instructionsFor } from '../../src/mcp/instructions.js';
import { changeToolNames } from '../../src/mcp/tools-of-changes.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { accountsWith } from '../support/caller.js';

/** What the server's instructions say about changes that its own tools do not have. */

const accounts = { all: [], byDefault: undefined, areNamed: false };
const changeWith = (change: Partial<ChangeTexts>, more: Partial<Operation> = {}): Operation => {
  const operation: Operation = restoreInstance;
  if (operation.change === undefined) throw new Error('it is no change');
  return { ...operation, ...more, change: { ...operation.change, ...change } };
};

test.each([true, false])('a change costs money only if it does: %s', (costsMoney) => {
  const text = instructionsFor([changeWith({ costsMoney })], accounts);
  expect(text.includes('Costing money: ')).toBe(costsMoney);
});

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

test.each(consentModes)('the tools of changes are named, in mode %s', (mode) => {
  const text = instructionsFor([changeWith({})], accountsWith({ readOnly: false, tools: undefined }, mode));
  expect(text).toContain('get_change');
  expect(text).toContain('withdraw_change');
  expect(text.includes('confirm_change')).toBe(mayConfirm(mode));
});

test('a caller who changes nothing reads nothing about the tools of changes', () => {
  const text = instructionsFor([listParts], accountsWith({ readOnly: true, tools: undefined }));
  expect(changeToolNames.filter((name) => text.includes(name))).toEqual([]);
});
