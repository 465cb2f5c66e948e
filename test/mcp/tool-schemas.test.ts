import { describe, expect, test } from 'vitest';
import { inputJsonSchema, outputJsonSchema } from '../../src/mcp/tool-schemas.js';
import { operations } from '../../src/tools/index.js';

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every schema inside a schema, with its path. */
function nodes(schema: Node, path = '$'): [string, Node][] {
  const properties = isNode(schema.properties) ? Object.entries(schema.properties) : [];
  const inner: [string, unknown][] = [
    ...properties,
    ...(schema.items === undefined ? [] : [['[]', schema.items] as [string, unknown]]),
  ];
  return [[path, schema], ...inner.flatMap(([name, node]) => (isNode(node) ? nodes(node, `${path}.${name}`) : []))];
}

/** Hosts are known that refuse any of these. */
const unportable = ['$ref', '$defs', 'anyOf', 'oneOf', 'allOf', 'not', 'const', 'if', 'propertyNames', '$schema'];

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_name, operation) => {
  const input = inputJsonSchema(operation.input());
  const output = outputJsonSchema(operation.output());

  test('its schemas use only what every host accepts', () => {
    expect(input.type).toBe('object');
    expect(output.type).toBe('object');
    for (const [path, node] of [...nodes(input), ...nodes(output)]) {
      expect(typeof node.type, path).toBe('string');
      for (const keyword of unportable) expect(node, path).not.toHaveProperty(keyword);
      for (const bound of [node.minimum, node.maximum])
        if (bound !== undefined) expect(Math.abs(Number(bound)), path).toBeLessThan(Number.MAX_SAFE_INTEGER);
    }
  });

  test('unknown arguments are refused at every depth, and whole numbers are called so', () => {
    for (const [path, node] of nodes(input)) {
      if (node.type === 'object') expect(node.additionalProperties, path).toBe(false);
      expect(node.type, path).not.toBe('number');
    }
  });

  test('nothing in an answer is required or forbidden', () => {
    for (const [path, node] of nodes(output)) {
      expect(node, path).not.toHaveProperty('required');
      expect(node, path).not.toHaveProperty('additionalProperties');
    }
  });
});
