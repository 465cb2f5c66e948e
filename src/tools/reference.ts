import type { Operation } from './define-operation.js';
import { devopsInstanceTypes, nodeInstanceTypes, workstationInstanceTypes } from './schema/enumerations.js';
import { inputJsonSchema, type JsonSchema } from './schema/json-schema.js';
import {
  clusterStatus,
  devopsState,
  devopsStatusCode,
  devopsStatusName,
  resourceGroupStatus,
} from './schema/meanings.js';

/** What the server knows of the API, as Markdown for agents and people. */

/** Arguments with their rules, defaults of the cloud, and what the reference leaves open. */
export function operationReference(operation: Operation): string {
  const { name, api, description, input, defaults, undocumented, elsewhere = [] } = operation;
  return [
    `# ${name}`,
    '',
    `Operation ${api} of the API reference. ${description}`,
    '',
    '## Arguments',
    '',
    ...argumentLines(inputJsonSchema(input), ''),
    '',
    '## Defaults of the cloud',
    '',
    ...(defaults.length === 0 ? ['None.'] : defaults.map(({ path, value }) => `- \`${path}\`: ${value}`)),
    '',
    '## Not documented by the API',
    '',
    ...undocumented.map((sentence) => `- ${sentence}`),
    '',
    ...(elsewhere.length === 0
      ? []
      : ['## Not possible here', '', ...elsewhere.map((sentence) => `- ${sentence}`), '']),
  ].join('\n');
}

/** The three lists of server types. */
export function instanceTypesReference(): string {
  const lists: readonly [string, readonly string[]][] = [
    ['Control plane and node pools (list N)', nodeInstanceTypes],
    ['Admin workstation (list W)', workstationInstanceTypes],
    ['DevOps servers (list D), default e-large', devopsInstanceTypes],
  ];
  return ['# Instance types', ...lists.map(([title, types]) => `\n## ${title}\n\n${types.join(', ')}`), ''].join('\n');
}

/** Every documented status with its meaning. */
export function statesReference(): string {
  const lists: readonly [string, Readonly<Record<string, string>>][] = [
    ['Resource group status', resourceGroupStatus],
    ['Cluster and node status', clusterStatus],
    ['DevOps server state', devopsState],
    ['DevOps status.code', devopsStatusCode],
    ['DevOps status.name', devopsStatusName],
  ];
  const section = ([title, meanings]: (typeof lists)[number]) =>
    `\n## ${title}\n\n${Object.entries(meanings)
      .map(([value, meaning]) => `- \`${value}\`: ${meaning}`)
      .join('\n')}`;
  const note =
    'Services answer with other values too. Transitions that are documented: a provisioned group starts as ' +
    '`provisioning`, an upgraded cluster as `configuring`, a restored server as `RESTORING`. All others are not.';
  return ['# States', '', note, ...lists.map(section), ''].join('\n');
}

type Fields = Readonly<Record<string, JsonSchema>>;

function argumentLines(schema: JsonSchema, prefix: string): string[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries((schema.properties ?? {}) as Fields).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const items = field.items as JsonSchema | undefined;
    const facts = [
      typeName(field, items),
      ...(required.includes(name) ? ['required'] : []),
      ...rules(field),
      ...(items === undefined ? [] : rules(items)),
      ...(typeof field.description === 'string' ? [field.description] : []),
    ];
    return [
      `- \`${path}\`: ${facts.join('; ')}`,
      ...argumentLines(field, `${path}.`),
      ...(items === undefined ? [] : argumentLines(items, `${path}[].`)),
    ];
  });
}

const typeName = ({ type }: JsonSchema, items: JsonSchema | undefined) =>
  type === 'array'
    ? `list of ${items?.type}`
    : type === 'string'
      ? 'text'
      : type === 'integer'
        ? 'whole number'
        : String(type);

function rules(field: JsonSchema): string[] {
  const bound = (words: string, value: unknown) => (value === undefined ? [] : [`${words} ${value}`]);
  return [
    ...(Array.isArray(field.enum) ? [`one of ${field.enum.join(', ')}`] : []),
    ...bound('at least', field.minimum),
    ...bound('characters at least', field.minLength),
    ...bound('characters at most', field.maxLength),
    ...bound('pattern', field.pattern),
    ...bound('entries at least', field.minItems),
    ...bound('entries at most', field.maxItems),
  ];
}
