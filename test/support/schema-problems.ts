import type { JsonSchema } from '../../src/tools/define-operation.js';

/** JSON Schema keywords that make some client refuse a tool, or the whole list of tools. */
const refusedKeywords: readonly string[] = [
  '$ref',
  '$defs',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'const',
  'if',
  'propertyNames',
  '$schema',
];

/** Lists the reasons why some host may refuse an argument schema, each with the path: `tags[] has no single type`. */
export function schemaProblems(schema: JsonSchema, path = ''): string[] {
  // The whole schema and the elements of lists need no description.
  const isField = path !== '' && !path.endsWith('[]');

  const problems: string[] = [];
  if (typeof schema.type !== 'string') problems.push('has no single type');
  if (refusedKeywords.some((keyword) => keyword in schema))
    problems.push('uses what some hosts refuse: references, unions or constants');
  if (schema.type === 'object' && schema.additionalProperties !== false) problems.push('must be a strict object');
  if (isField && typeof schema.description !== 'string') problems.push('has no description');

  const subject = path === '' ? 'the whole' : path;
  const prefix = path === '' ? '' : `${path}.`;
  const fields = Object.entries<JsonSchema>(Object(schema.properties));
  const innerProblems = fields.flatMap(([name, field]) => schemaProblems(field, `${prefix}${name}`));
  const itemProblems = 'items' in schema ? schemaProblems(Object(schema.items), `${path}[]`) : [];
  return [...problems.map((problem) => `${subject} ${problem}`), ...innerProblems, ...itemProblems];
}
