import { readdirSync, readFileSync, statSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { countText } from '../../src/util/human.js';
import { isObject, textAt, valueAt } from '../../src/util/objects.js';

/** Finds the texts for people in source files, as the templates by which they are translated. */

const root = new URL('../../', import.meta.url);

/** All files of a folder, or the file itself. */
export const sourceFiles = (path: string): readonly string[] =>
  statSync(new URL(path, root)).isDirectory()
    ? readdirSync(new URL(path, root)).flatMap((name) => sourceFiles(`${path}/${name}`))
    : [path].filter((file) => file.endsWith('.ts'));

/** Calls whose texts only agents, operators or logs get. */
const notForPeople = ['forAgent', 'next', 'nextStep', 'operatorMust', 'log', 'argument', 'Error'];

/** The template of a literal: `{0}` and so on stand for its values. */
function templateOf(node: unknown): string | undefined {
  if (textAt(node, 'type') === 'Literal') return textAt(node, 'value');
  const quasis = valueAt(node, 'quasis');
  if (textAt(node, 'type') !== 'TemplateLiteral' || !Array.isArray(quasis)) return undefined;
  return quasis
    .map((quasi) => textAt(quasi, 'value.cooked') ?? '')
    .reduce((text, next, index) => `${text}{${index - 1}}${next}`);
}

/** The literals that an expression may be. */
function literalsIn(node: unknown): readonly string[] {
  if (textAt(node, 'type') === 'ConditionalExpression')
    return [valueAt(node, 'consequent'), valueAt(node, 'alternate')].flatMap(literalsIn);
  const template = templateOf(node);
  return template === undefined ? [] : [template];
}

/** The texts of a call or a tagged template itself. */
function textsOfNode(node: Readonly<Record<string, unknown>>, args: readonly unknown[]): readonly string[] {
  if (textAt(node, 'tag.name') === 'say') return literalsIn(node.quasi);
  const callee = textAt(node, 'callee.name') ?? '';
  if (['words', 'differs', 'titled'].includes(callee)) return args.flatMap(literalsIn);
  if (callee !== 'counted') return [];
  return args
    .slice(1)
    .flatMap(literalsIn)
    .flatMap((noun) => [countText(1, noun), countText(2, noun)]);
}

function templatesIn(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(templatesIn);
  if (!isObject(node)) return [];
  const args = Array.isArray(node.arguments) ? node.arguments : [];
  const callee = textAt(node, 'callee.name') ?? '';
  if (notForPeople.includes(callee)) return [];
  if (callee === 'forReader') return textsForPerson(args[0]);
  return [...textsOfNode(node, args), ...Object.values(node).flatMap(templatesIn)];
}

function textsForPerson(readers: unknown): readonly string[] {
  const properties = valueAt(readers, 'properties');
  const person = (Array.isArray(properties) ? properties : []).find((each) => textAt(each, 'key.name') === 'person');
  const text = valueAt(person, 'value');
  return [...literalsIn(text), ...templatesIn(text)];
}

/** The templates of a file. */
export const ownTexts = (file: string): readonly string[] => [...new Set(templatesIn(parsed(file)))];

const parsed = (file: string) => parseAst(readFileSync(new URL(file, root), 'utf8'), { lang: 'ts' });

/** All sentences and titles in the code of a view. */
export function viewTexts(file: string): readonly string[] {
  const found = new Set<string>();
  const collect = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) collect(each);
    if (!isObject(node) || textAt(node, 'type') === 'NewExpression') return;
    const text = textAt(node, 'type') === 'Literal' ? templateOf(node) : undefined;
    if (text !== undefined && /^(?:[A-Z][a-z]*(?:[ ,:]|$)|\(\{0\})/.test(text.trim())) found.add(text);
    for (const inner of Object.values(node)) collect(inner);
  };
  collect(parsed(file));
  return [...found];
}
