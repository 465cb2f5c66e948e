import { expect, test } from 'vitest';
import * as z from 'zod';
import { wholeNumber, withConditions } from '../../../src/tools/schema/fields.js';

test.each([
  [0, 'must be a whole number from 1 to 9'],
  [10, 'must be a whole number from 1 to 9'],
  [1.5, 'must be a whole number'],
  ['10', 'must be a whole number from 1 to 9'],
  [1, undefined],
  ['9', undefined],
])('a whole number has bounds: %j', (given, problem) => {
  expect(wholeNumber(1, 9).safeParse(given).error?.issues[0]?.message).toBe(problem);
});

test('a condition on an element of a list has its path and its value', () => {
  const rules = z.array(z.strictObject({ id: z.string() }));
  const schema = withConditions(z.strictObject({ rules }), (_given, report) => report('rules[1].id', 'is wrong'));
  const { error } = schema.safeParse({ rules: [{ id: 'a' }, { id: 'b' }] }, { reportInput: true });
  expect(error?.issues).toMatchObject([{ path: ['rules', 1, 'id'], input: 'b', message: 'is wrong' }]);
});
