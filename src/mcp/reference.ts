import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { devopsInstanceTypes, nodeInstanceTypes, workstationInstanceTypes } from '../tools/schema/enumerations.js';
import {
  clusterStatus,
  devopsState,
  devopsStatusCode,
  devopsStatusName,
  resourceGroupStatus,
} from '../tools/schema/meanings.js';
import { markdownTable } from '../util/human.js';
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
export function gaps({ undocumented, elsewhere }: Operation): [string, string][] {
  const section = (title: string, sentences: readonly string[]): [string, string][] =>
    sentences.length === 0 ? [] : [[title, sentences.map((sentence) => `- ${sentence}`).join('\n')]];
  return [...section('Not documented by the API', undocumented), ...section('Not possible here', elsewhere)];
}

/** Every argument, at any depth, with its rules and what the cloud uses in its absence: a table, and long lists of values after it. */
export function argumentReference({ input, defaults }: Operation): string {
  const longLists = new Map<string, string>();
  const rows = argumentsOf(inputJsonSchema(input()), '').map(({ path, field, required }) => {
    const items = field.items as JsonSchema | undefined;
    const rules = [
      ...(required ? ['required'] : []),
      ...rulesOf(field, longLists),
      ...(items?.type === 'string' ? rulesOf(items, longLists) : []),
    ].join(', ');
    const text = [rules, String(field.description ?? '')].filter((part) => part !== '').join('. ');
    const type = items === undefined ? typeName(field) : `list of ${typeName(items)}`;
    const preset = defaults.find((one) => one.path === path)?.value ?? '';
    return [`\`${path}\``, type, text.charAt(0).toUpperCase() + text.slice(1), preset];
  });
  const table = markdownTable(['argument', 'type', 'rules', 'when absent'], rows);
  return [table, ...[...longLists].map(([values, name]) => `List ${name}: ${values}.`)].join('\n\n');
}

export function instanceTypesReference(): string {
  const lists: readonly [string, readonly string[]][] = [
    ['Control plane and node pools', nodeInstanceTypes],
    ['Admin workstation', workstationInstanceTypes],
    ['DevOps servers, default e-large', devopsInstanceTypes],
  ];
  return ['# Instance types', ...lists.map(([title, types]) => `\n## ${title}\n\n${types.join(', ')}`), ''].join('\n');
}

/** What records in answers say of their state, by the field that says it: each value with its meaning. */
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

function rulesOf(field: JsonSchema, longLists: Map<string, string>): string[] {
  return [
    ...(Array.isArray(field.enum) ? [oneOf(field.enum, longLists)] : []),
    ...range(field.minimum, field.maximum),
    ...range(field.minLength, field.maxLength, 'character', 'characters'),
    ...range(field.minItems, field.maxItems, 'entry', 'entries'),
    ...(field.pattern === undefined ? [] : [`pattern \`${field.pattern}\``]),
  ];
}

/** `one of a, b`; a long list gets a letter, under which it is added to `longLists`. */
function oneOf(values: readonly unknown[], longLists: Map<string, string>): string {
  const text = values.map((value) => `\`${value}\``).join(', ');
  if (values.length <= 8) return values.length === 1 ? `only ${text}` : `one of ${text}`;
  const name = longLists.get(text) ?? String.fromCharCode(65 + longLists.size);
  longLists.set(text, name);
  return `one of list ${name} below`;
}

function range(low: unknown, high: unknown, one = '', many = ''): string[] {
  const counted = (bound: unknown) => `${bound} ${bound === 1 ? one : many}`.trim();
  if (low === undefined) return high === undefined ? [] : [`at most ${counted(high)}`];
  if (low === high) return [`exactly ${counted(high)}`];
  return [high === undefined ? `at least ${counted(low)}` : `${low} to ${counted(high)}`];
}
