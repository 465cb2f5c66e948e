import { expect, test } from 'vitest';
import { toolSchemas } from '../../src/mcp/tool-schemas.js';
import { defineOperation, type Operation } from '../../src/tools/define-operation.js';
import { operations } from '../../src/tools/index.js';
import { listParts } from '../../src/tools/list-parts.js';
import { schemaProblems } from '../support/schema-problems.js';

test.each(operations.map((operation) => [operation.name, operation] as const))(
  '%s has arguments that every host takes',
  (_name, operation) => {
    expect(schemaProblems(toolSchemas(operation).input)).toEqual([]);
  },
);

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
