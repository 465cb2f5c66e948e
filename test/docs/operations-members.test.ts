import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { modelSettings } from '../../src/models/model-settings.js';

/** docs/MODELS.md names every setting of a model, from the schema. */

const guide = readFileSync('docs/MODELS.md', 'utf8');
const sectionOf = (heading: string) => {
  const [, text] = guide.split(new RegExp(`^## ${heading}\n`, 'm'));
  if (text === undefined) throw new Error(`docs/MODELS.md has no section "${heading}"`);
  return text.split(/^## /m)[0] ?? '';
};

/** Names of fields and members in code, with those in bold. */
function namesIn(text: string) {
  const bold = [...text.matchAll(/\*\*`(\w+)`\*\*/g)].map(([, name = '']) => name);
  const code = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, words = '']) => words.match(/\w+/g) ?? []);
  return { all: new Set(code), required: new Set(bold) };
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
}

test('a model has every setting in the guide, with required ones in bold', () => {
  const model: ObjectSchema = z.toJSONSchema(modelSettings, { io: 'input' });
  const { additionalProperties: operation = {} }: ObjectSchema = Object(model.properties?.operations);
  const schemas: readonly ObjectSchema[] = [model, Object(operation)];
  const { all, required } = namesIn(sectionOf('Settings of a model') + sectionOf('Settings of an operation'));
  const settings = schemas.flatMap(({ properties = {} }) => Object.keys(properties));
  expect(settings).toContain('consequences');
  expect(settings.filter((name) => !all.has(name))).toEqual([]);
  expect([...required].sort()).toEqual(schemas.flatMap((schema) => schema.required ?? []).sort());
});
