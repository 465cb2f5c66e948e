import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { devopsInstanceTypes, nodeInstanceTypes, workstationInstanceTypes } from '../tools/schema/enumerations.js';
import {
  clusterStatus,
  devopsState,
  devopsStatusCode,
  devopsStatusName,
  resourceGroupStatus,
} from '../tools/schema/meanings.js';
import { markdownTable, sentenceCase, sentences } from '../util/human.js';
import { isObject } from '../util/objects.js';
import { inputJsonSchema } from './tool-schemas.js';

/** This file writes the reference of the API in Markdown, for agents and people. */

/** Returns the reference of one operation, with its arguments and its gaps. */
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

/** Returns headings with Markdown lists: the undocumented facts about an operation, and the missing features. */
export function gaps({ undocumented, limitations }: Operation): [string, string][] {
  const section = (title: string, facts: readonly string[]): [string, string][] =>
    facts.length === 0 ? [] : [[title, facts.map((fact) => `- ${fact}`).join('\n')]];
  return [...section('Not documented by the API', undocumented), ...section('Not possible here', limitations)];
}

/** One argument of an operation, as the reference describes it. */
export interface ArgumentRow {
  readonly path: string;
  readonly type: string;
  readonly rules: readonly string[];
  readonly about: string;
  /** The cloud's default if the argument is absent; empty if the default is not documented. */
  readonly defaultText: string;
  /** The allowed values, if there are more than `maximumInlineValues`. */
  readonly list: NamedList | undefined;
}

/** The allowed values of an argument, as a list below the table. Arguments with the same values share a list. */
interface NamedList {
  /** A letter: A for the first list of an operation. */
  readonly name: string;
  readonly values: string;
}

/** Returns a row for each argument of an operation, at any depth. */
export function argumentRows({ input, defaults }: Pick<Operation, 'input' | 'defaults'>): ArgumentRow[] {
  // A row has no room for many allowed values. They become a list with a name below the table, and the row's rule refers to that name.
  const namedListOf = createNamedLists();
  const defaultByPath = new Map(defaults.map(({ path, value }) => [path, value]));
  return argumentsOf(inputJsonSchema(input())).map(({ path, field, isRequired }) => {
    // The strings in an array have no row of their own, so the row of the array also has their rules and allowed values.
    const items = itemsOf(field);
    const schemasOfRow = items?.type === 'string' ? [field, items] : [field];
    const namedList = schemasOfRow.map(namedListOf).find((list) => list !== undefined);
    const rules = schemasOfRow.flatMap((schema) => rulesOf(schema, namedList));

    return {
      path,
      type: items === undefined ? typeName(field) : `list of ${typeName(items)}`,
      rules: isRequired ? ['required', ...rules] : rules,
      about: String(field.description ?? ''),
      defaultText: defaultByPath.get(path) ?? '',
      list: namedList,
    };
  });
}

/**
 * Returns a function that gives the allowed values of a schema a list with the name A, B and so on. The same values get the same list. The
 * function returns undefined for a schema with at most `maximumInlineValues` allowed values.
 */
function createNamedLists(): (schema: JsonSchema) => NamedList | undefined {
  const lists = new Map<string, NamedList>();
  return ({ enum: allowed }) => {
    if (!Array.isArray(allowed) || allowed.length <= maximumInlineValues) return undefined;
    const values = valuesText(allowed);
    const list = lists.get(values) ?? { name: String.fromCharCode(65 + lists.size), values };
    lists.set(values, list);
    return list;
  };
}

/** Returns the arguments as a Markdown table, followed by the long lists of values. */
export function argumentReference(operation: Operation): string {
  const rows = argumentRows(operation);
  const table = markdownTable(
    ['argument', 'type', 'rules', 'when absent'],
    rows.map(({ path, type, rules, about, defaultText }) => {
      const text = [rules.join(', '), about].filter((part) => part !== '').join('. ');
      return [`\`${path}\``, type, sentenceCase(text), defaultText];
    }),
  );
  const lists = new Set(rows.map(({ list }) => list).filter((list) => list !== undefined));
  return [table, ...[...lists].map(({ name, values }) => `List ${name}: ${values}.`)].join('\n\n');
}

export function instanceTypesReference(): string {
  const lists: readonly [string, readonly string[]][] = [
    ['Control plane and node pools', nodeInstanceTypes],
    ['Admin workstation', workstationInstanceTypes],
    ['DevOps servers, default e-large', devopsInstanceTypes],
  ];
  return ['# Instance types', ...lists.map(([title, types]) => `\n## ${title}\n\n${types.join(', ')}`), ''].join('\n');
}

/** The statesOfThings of records in answers: for each field, the values and their meanings. */
export const statesOfThings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Resource group status': resourceGroupStatus,
  'Cluster and node status': clusterStatus,
  'DevOps server state': devopsState,
  'DevOps status.code': devopsStatusCode,
  'DevOps status.name': devopsStatusName,
};

export function statesReference(): string {
  const section = ([title, meanings]: [string, Readonly<Record<string, string>>]) => {
    const lines = Object.entries(meanings).map(([value, meaning]) => `- \`${value}\`: ${meaning}`);
    return `\n## ${title}\n\n${lines.join('\n')}`;
  };
  const note =
    'Clouds answer with other values too. Transitions that are documented: a provisioned group starts as ' +
    '`provisioning`, an upgraded cluster as `configuring`, a restored server as `RESTORING`. All others are not.';
  return ['# States', '', note, ...Object.entries(statesOfThings).map(section), ''].join('\n');
}

interface Argument {
  readonly path: string;
  readonly field: JsonSchema;
  readonly isRequired: boolean;
}

/** Returns the arguments of an object schema and of all inner schemas. Their paths, such as `nodePools[].name`, begin with `prefix`. */
function argumentsOf({ properties, required }: JsonSchema, prefix = ''): Argument[] {
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

/** The schema of an array's items. Undefined for any other schema. */
const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined => (isObject(items) ? items : undefined);

const typeNames = new Map<unknown, string>([
  ['string', 'text'],
  ['integer', 'whole number'],
  ['boolean', 'true or false'],
]);
const typeName = ({ type }: JsonSchema) => typeNames.get(type) ?? String(type);

/** Returns the rules of a schema, such as `1 to 40 characters`. `namedList` is set if the row has no room for the allowed values. */
function rulesOf(schema: JsonSchema, namedList: NamedList | undefined): string[] {
  return sentences(
    Array.isArray(schema.enum) && allowedValues(schema.enum, namedList),
    ...range(schema.minimum, schema.maximum),
    ...range(schema.minLength, schema.maxLength, 'character', 'characters'),
    ...range(schema.minItems, schema.maxItems, 'entry', 'entries'),
    schema.pattern !== undefined && `pattern \`${schema.pattern}\``,
  );
}

/** Maximum number of allowed values in a row of the table. More values are listed below the table. */
const maximumInlineValues = 8;

function allowedValues(values: readonly unknown[], namedList: NamedList | undefined): string {
  if (namedList !== undefined) return `one of list ${namedList.name} below`;
  return values.length === 1 ? `only ${valuesText(values)}` : `one of ${valuesText(values)}`;
}

const valuesText = (values: readonly unknown[]) => values.map((value) => `\`${value}\``).join(', ');

/** Returns the rule for the bounds of a number or a count, such as `2 to 5 entries`; an empty list if there are no bounds. */
function range(low: unknown, high: unknown, singular = '', plural = ''): string[] {
  const withUnit = (bound: unknown) => `${bound} ${bound === 1 ? singular : plural}`.trim();
  if (low === undefined) return high === undefined ? [] : [`at most ${withUnit(high)}`];
  if (low === high) return [`exactly ${withUnit(high)}`];
  return [high === undefined ? `at least ${withUnit(low)}` : `${low} to ${withUnit(high)}`];
}
