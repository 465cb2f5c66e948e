import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { operations } from '../../src/tools/index.js';
import { cluster, resourceGroup } from '../../src/tools/schema/outputs.js';

/** docs/API.md says what the source holds to, and the source cites it by the names of its headings. */

const page = readFileSync('docs/API.md', 'utf8');
const headings = [...page.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading);

const sources = ['src', 'sandbox', 'ui', 'test', 'examples', 'scripts', 'bench'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => /\.(?:ts|mjs|md)$/.test(path)),
);
const lines = sources.flatMap((path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => ({ path, line })),
);

test('what the source cites is a heading of the page', () => {
  const cited = lines.flatMap(({ path, line }) =>
    [...line.matchAll(/docs\/API\.md: ([A-Z][\w ]+(?:, [A-Z]\w+)*)/g)].flatMap(([, names = '']) =>
      names.split(', ').map((name) => ({ path, name })),
    ),
  );
  expect(cited.length).toBeGreaterThan(20);
  expect(cited.filter(({ name }) => !headings.includes(name))).toEqual([]);
});

test('nothing is cited by the number of a section that readers do not have', () => {
  const numbered = lines.filter(({ line }) => /(?<!RFC \d{4}.{0,20})\bsections? \d/.test(line));
  expect(numbered).toEqual([]);
});

/** An object that may lack fields and has no other ones, at any depth: what a shortened example has to be. */
function shortened(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return shortened(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return z.array(shortened(schema.element as z.ZodType));
  if (!(schema instanceof z.ZodObject)) return schema;
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
  return z.strictObject(Object.fromEntries(fields.map(([name, field]) => [name, shortened(field).optional()])));
}

const outputOf = (tool: string) => {
  const output = operations.find(({ name }) => name === tool)?.output();
  if (output === undefined) throw new Error(`${tool} is no tool`);
  return output;
};

describe('the example of an answer has the fields that tools read', () => {
  const node = cluster().shape.controlPlane.shape.instances.element;
  const records: readonly (readonly [string, z.ZodType])[] = [
    ['Server record', node],
    ['Cluster record', cluster()],
    ['Resource group record', resourceGroup()],
    ['DevOps server record', outputOf('restore_instance')],
  ];
  test.each(records)('%s', (heading, schema) => {
    const [, section = ''] = page.split(`### ${heading}\n`);
    const [, example = ''] = /```json\n([\s\S]*?)```/.exec(section) ?? [];
    expect(() => shortened(schema).parse(JSON.parse(example))).not.toThrow();
  });
});
