import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { devopsInstanceTypes, nodeInstanceTypes, workstationInstanceTypes } from '../tools/schema/enumerations.js';
import {
  clusterStatus,
  devopsState,
  devopsStatusCode,
  devopsStatusName,
  resourceGroupStatus,
} from '../tools/schema/meanings.js';
import { markdownTable, sentenceCase } from '../util/human.js';
import { inputJsonSchema } from './json-schema.js';

/** The reference of the API as Markdown, for agents and people. */

/** The arguments of an operation, and the questions that the API leaves open. */
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

/** Questions that the API leaves open and things that the operation can't do: headings, each with a list in Markdown. */
export function gaps({ undocumented, limitations }: Operation): [string, string][] {
  const section = (title: string, sentences: readonly string[]): [string, string][] =>
    sentences.length === 0 ? [] : [[title, sentences.map((sentence) => `- ${sentence}`).join('\n')]];
  return [...section('Not documented by the API', undocumented), ...section('Not possible here', limitations)];
}

/** One argument with its rules, and what the cloud uses in its absence. A list of values that many share has a letter. */
export interface ArgumentRow {
  readonly path: string;
  readonly type: string;
  readonly rules: readonly string[];
  readonly about: string;
  readonly preset: string;
  readonly list: { readonly name: string; readonly values: string } | undefined;
}

/** Every argument, at any depth. */
export function argumentRows({ input, defaults }: Pick<Operation, 'input' | 'defaults'>): ArgumentRow[] {
  const letters = new Map<string, string>();
  const listOf = (field: JsonSchema): ArgumentRow['list'] => {
    const values = longList(field);
    if (values === undefined) return undefined;
    const name = letters.get(values) ?? String.fromCharCode(65 + letters.size);
    letters.set(values, name);
    return { name, values };
  };
  return argumentsOf(inputJsonSchema(input()), '').map(({ path, field, required }) => {
    const items = field.items as JsonSchema | undefined;
    const ruled = items?.type === 'string' ? [field, items] : [field];
    const list = ruled.map(listOf).find((found) => found !== undefined);
    return {
      path,
      type: items === undefined ? typeName(field) : `list of ${typeName(items)}`,
      rules: [...(required ? ['required'] : []), ...ruled.flatMap((one) => rulesOf(one, list?.name))],
      about: String(field.description ?? ''),
      preset: defaults.find((one) => one.path === path)?.value ?? '',
      list,
    };
  });
}

/** The same as a table of Markdown, and long lists of values after it. */
export function argumentReference(operation: Operation): string {
  const rows = argumentRows(operation);
  const table = markdownTable(
    ['argument', 'type', 'rules', 'when absent'],
    rows.map(({ path, type, rules, about, preset }) => {
      const text = [rules.join(', '), about].filter((part) => part !== '').join('. ');
      return [`\`${path}\``, type, sentenceCase(text), preset];
    }),
  );
  const lists = new Map(rows.flatMap(({ list }) => (list === undefined ? [] : [[list.name, list.values] as const])));
  return [table, ...[...lists].map(([name, values]) => `List ${name}: ${values}.`)].join('\n\n');
}

export function instanceTypesReference(): string {
  const lists: readonly [string, readonly string[]][] = [
    ['Control plane and node pools', nodeInstanceTypes],
    ['Admin workstation', workstationInstanceTypes],
    ['DevOps servers, default e-large', devopsInstanceTypes],
  ];
  return ['# Instance types', ...lists.map(([title, types]) => `\n## ${title}\n\n${types.join(', ')}`), ''].join('\n');
}

/** The states that records in answers have, by field: each value with its meaning. */
export const states: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Resource group status': resourceGroupStatus,
  'Cluster and node status': clusterStatus,
  'DevOps server state': devopsState,
  'DevOps status.code': devopsStatusCode,
  'DevOps status.name': devopsStatusName,
};

export function statesReference(): string {
  const section = ([title, meanings]: [string, Readonly<Record<string, string>>]) =>
    `\n## ${title}\n\n${Object.entries(meanings)
      .map(([value, meaning]) => `- \`${value}\`: ${meaning}`)
      .join('\n')}`;
  const note =
    'Clouds answer with other values too. Transitions that are documented: a provisioned group starts as ' +
    '`provisioning`, an upgraded cluster as `configuring`, a restored server as `RESTORING`. All others are not.';
  return ['# States', '', note, ...Object.entries(states).map(section), ''].join('\n');
}

/** The arguments of an object and of what is in it; `nodePools[].name` is in a list. */
function argumentsOf(
  { properties = {}, required }: JsonSchema,
  prefix: string,
): { path: string; field: JsonSchema; required: boolean }[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).flatMap(([name, field]) => {
    const path = prefix + name;
    const items = field.items as JsonSchema | undefined;
    return [
      { path, field, required: Array.isArray(required) && required.includes(name) },
      ...(items === undefined ? argumentsOf(field, `${path}.`) : argumentsOf(items, `${path}[].`)),
    ];
  });
}

const typeNames = new Map<unknown, string>([
  ['string', 'text'],
  ['integer', 'whole number'],
  ['boolean', 'true or false'],
]);
const typeName = ({ type }: JsonSchema) => typeNames.get(type) ?? String(type);

/** @param listName of the list of its values, if that is long */
function rulesOf(field: JsonSchema, listName: string | undefined): string[] {
  return [
    ...(Array.isArray(field.enum) ? [oneOf(field.enum, listName)] : []),
    ...range(field.minimum, field.maximum),
    ...range(field.minLength, field.maxLength, 'character', 'characters'),
    ...range(field.minItems, field.maxItems, 'entry', 'entries'),
    ...(field.pattern === undefined ? [] : [`pattern \`${field.pattern}\``]),
  ];
}

const valuesText = (values: readonly unknown[]) => values.map((value) => `\`${value}\``).join(', ');

/** The allowed values of a field, if there are many. */
const longList = (field: JsonSchema): string | undefined =>
  Array.isArray(field.enum) && field.enum.length > 8 ? valuesText(field.enum) : undefined;

function oneOf(values: readonly unknown[], listName: string | undefined): string {
  if (values.length > 8) return `one of list ${listName} below`;
  return values.length === 1 ? `only ${valuesText(values)}` : `one of ${valuesText(values)}`;
}

function range(low: unknown, high: unknown, one = '', many = ''): string[] {
  const counted = (bound: unknown) => `${bound} ${bound === 1 ? one : many}`.trim();
  if (low === undefined) return high === undefined ? [] : [`at most ${counted(high)}`];
  if (low === high) return [`exactly ${counted(high)}`];
  return [high === undefined ? `at least ${counted(low)}` : `${low} to ${counted(high)}`];
}
