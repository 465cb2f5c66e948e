import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { markdownTable, sentenceCase, sentences } from '../util/human.js';
import { isObject } from '../util/objects.js';
import { inputJsonSchema } from './tool-schemas.js';

/** This file writes the reference of the API in Markdown, for agents and people. */

export function operationReference(operation: Operation): string {
  const { name, api, description } = operation;
  const parts = [
    `# ${name}`,
    `Operation ${api}. ${description}`,
    '## Arguments',
    argumentReference(operation),
    ...gaps(operation).flatMap(([heading, list]) => [`## ${heading}`, list]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Returns headings and Markdown lists of what is not documented and not possible. */
export function gaps({ undocumented, limitations }: Operation): [string, string][] {
  const section = (title: string, facts: readonly string[]): [string, string][] =>
    facts.length === 0 ? [] : [[title, facts.map((fact) => `- ${fact}`).join('\n')]];
  return [...section('Not documented by the API', undocumented), ...section('Not possible here', limitations)];
}

export interface ArgumentRow {
  readonly path: string;
  readonly type: string;
  readonly rules: readonly string[];
  readonly about: string;
  /** Empty if the default is not documented. */
  readonly defaultText: string;
}

/** Returns a row for each argument, at any depth. */
export function argumentRows({ input, defaults }: Pick<Operation, 'input' | 'defaults'>): ArgumentRow[] {
  const defaultByPath = new Map(defaults.map(({ path, value }) => [path, value]));
  return argumentsOf(inputJsonSchema(input())).map(({ path, field, isRequired }) => {
    // The strings in an array have no row of their own.
    const items = itemsOf(field);
    const schemasOfRow = items?.type === 'string' ? [field, items] : [field];
    const rules = schemasOfRow.flatMap(rulesOf);
    return {
      path,
      type: items === undefined ? typeName(field) : `list of ${typeName(items)}`,
      rules: isRequired ? ['required', ...rules] : rules,
      about: String(field.description ?? ''),
      defaultText: defaultByPath.get(path) ?? '',
    };
  });
}

export const argumentReference = (operation: Operation): string =>
  markdownTable(
    ['argument', 'type', 'rules', 'when absent'],
    argumentRows(operation).map(({ path, type, rules, about, defaultText }) => {
      const text = [rules.join(', '), about].filter((part) => part !== '').join('. ');
      return [`\`${path}\``, type, sentenceCase(text), defaultText];
    }),
  );

function argumentsOf(
  { properties, required }: JsonSchema,
  prefix = '',
): { readonly path: string; readonly field: JsonSchema; readonly isRequired: boolean }[] {
  if (!isObject(properties)) return [];
  const requiredNames: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!isObject(field)) return [];
    const path = prefix + name;
    const items = itemsOf(field);
    const inner = items === undefined ? argumentsOf(field, `${path}.`) : argumentsOf(items, `${path}[].`);
    return [{ path, field, isRequired: requiredNames.includes(name) }, ...inner];
  });
}

const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined => (isObject(items) ? items : undefined);

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
};
const typeName = ({ type }: JsonSchema) => typeNames[String(type)] ?? String(type);

/** Returns the rules of a schema: `1 to 40 characters`. */
function rulesOf(schema: JsonSchema): string[] {
  return sentences(
    Array.isArray(schema.enum) &&
      `${schema.enum.length === 1 ? 'only' : 'one of'} ${schema.enum.map((value) => `\`${value}\``).join(', ')}`,
    ...range(schema.minimum, schema.maximum),
    ...range(schema.minLength, schema.maxLength, 'character', 'characters'),
    ...range(schema.minItems, schema.maxItems, 'entry', 'entries'),
    schema.pattern !== undefined && `pattern \`${schema.pattern}\``,
  );
}

/** Returns the bounds as a rule: `2 to 5 entries`. */
function range(low: unknown, high: unknown, singular = '', plural = ''): string[] {
  const withUnit = (bound: unknown) => `${bound} ${bound === 1 ? singular : plural}`.trim();
  if (low === undefined) return high === undefined ? [] : [`at most ${withUnit(high)}`];
  if (low === high) return [`exactly ${withUnit(high)}`];
  return [high === undefined ? `at least ${withUnit(low)}` : `${low} to ${withUnit(high)}`];
}
