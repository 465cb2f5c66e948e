import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createKit } from '../../src/operations/kit.js';
import { modelSettings } from '../../src/operations/model/model-settings.js';

/** docs/OPERATIONS.md names every member of the kit, every field of an operation and every setting of a model, from types and schemas. */

const guide = readFileSync('docs/OPERATIONS.md', 'utf8');
const sectionOf = (heading: string) => {
  const [, text] = guide.split(new RegExp(`^### ${heading}\n`, 'm'));
  if (text === undefined) throw new Error(`docs/OPERATIONS.md has no section "${heading}"`);
  return text.split(/^## /m)[0] ?? '';
};

/** Names of fields and members in code, with those in bold. */
function namesIn(text: string) {
  const bold = [...text.matchAll(/\*\*`(\w+)`\*\*/g)].map(([, name = '']) => name);
  const code = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, words = '']) => words.match(/\w+/g) ?? []);
  return { all: new Set(code), required: new Set(bold) };
}

const kit = createKit(async () => []);

test.each([
  ['the kit', Object.keys(kit)],
  ['its rules for arguments', Object.keys(kit.fields)],
])('%s has every member in the guide', (_what, members) => {
  const { all } = namesIn(sectionOf('The kit'));
  expect(members.filter((member) => !all.has(member))).toEqual([]);
});

interface Field {
  readonly owner: string;
  readonly name: string;
  readonly isRequired: boolean;
}

/** The fields that `kit.defineOperation` fills in. */
const completed = Object.keys(kit.defineOperation(Object({}))).filter((name) => name !== 'input');
/** The only field that the build writes; files cannot have it. */
const written = 'schemas';

/** Fields of the interfaces in the file that has an operation's types. The schema of definitions is held to these types by the compiler. */
function fieldsOfTypes(): readonly Field[] {
  const source = readFileSync('src/tools/define-operation.ts', 'utf8');
  const interfaces = [...source.matchAll(/^export interface (\w+)[\s\S]*?^\}/gm)];
  const methods = interfaces.map(([text]) => text).join('\n');
  return interfaces.flatMap(([text, owner = '']) => {
    // A function of the operation gets it: nobody writes it.
    const isArgument = new RegExp(`\\(.*\\w: ${owner}\\b`).test(methods);
    const fields = [...text.matchAll(/^ {2}(?:readonly )?(\w+)(\??)[:(]/gm)].map(([, name = '', optional]) => ({
      owner,
      name,
      isRequired: optional === '' && !isArgument && !(owner === 'Operation' && completed.includes(name)),
    }));
    return fields.filter(({ name }) => name !== written);
  });
}

test('an operation has every field in the guide, with required ones in bold', () => {
  const fields = fieldsOfTypes();
  expect(fields).toContainEqual({ owner: 'ChangeTexts', name: 'verificationHint', isRequired: true });
  expect(fields).toContainEqual({ owner: 'Operation', name: 'extract', isRequired: false });
  const { all, required } = namesIn(sectionOf('Fields of an operation'));
  expect(fields.filter(({ name }) => !all.has(name))).toEqual([]);
  expect(fields.filter(({ name, isRequired }) => isRequired && !required.has(name))).toEqual([]);
  const names = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  expect([...required].filter((name) => !names.includes(name))).toEqual([]);
});

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
}

test('a model has every setting in the guide, with required ones in bold', () => {
  const model: ObjectSchema = z.toJSONSchema(modelSettings, { io: 'input' });
  const { additionalProperties: operation = {} }: ObjectSchema = Object(model.properties?.operations);
  const schemas: readonly ObjectSchema[] = [model, Object(operation)];
  const { all, required } = namesIn(sectionOf('Settings of a model').split('### ')[0] ?? '');
  const settings = schemas.flatMap(({ properties = {} }) => Object.keys(properties));
  expect(settings).toContain('verificationHint');
  expect(settings.filter((name) => !all.has(name))).toEqual([]);
  expect([...required].sort()).toEqual(schemas.flatMap((schema) => schema.required ?? []).sort());
});
