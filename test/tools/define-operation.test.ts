import { expect, test } from 'vitest';
import { defineOperation, type Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';

test('an operation makes its schemas when they are first needed, and once', () => {
  let made = 0;
  const input = () => {
    made += 1;
    return listParts.input();
  };
  const operation: Operation = defineOperation({ ...listParts, input });
  expect(made).toBe(0);
  expect(operation.input()).toBe(operation.input());
  expect(made).toBe(1);
  expect(operation.output()).toBe(operation.output());
  expect(operation.pages?.page()).toBe(operation.pages?.page());
});
