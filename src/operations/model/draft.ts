import type { Effect, Follow } from '../../tools/define-operation.js';
import { followFromWaiters, waitersTrait } from './draft-follow.js';
import { guessEffect } from './guess-effect.js';
import { hasTrait, type Model, type ModelOperation } from './model.js';
import { undecided } from './model-settings.js';

/** A line of the list of a model's operations. */
interface DraftRow {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  /** The guess, or the reason why a person has to decide. */
  readonly effect: Effect | 'unclear';
  readonly reason?: string;
}

/** Lists the operations of a model, with a guess of the effect of each. */
export const draftRows = (model: Model): readonly DraftRow[] =>
  model.names.map((name) => {
    const operation = model.operation(name);
    const { method, uri } = operation.http;
    const { effect, reason } = guessOf(model, operation);
    return { operation: name, method, path: uri, effect: effect ?? 'unclear', ...(reason !== undefined && { reason }) };
  });

interface Guess {
  readonly effect: Effect | undefined;
  readonly reason?: string;
}

function guessOf({ service }: Model, { name, http, traits }: ModelOperation): Guess {
  const { effect, byName, isReadByModel } = guessEffect({
    name,
    method: http.method,
    isReadonly: hasTrait(traits, 'smithy.api#readonly') || hasTrait(traits, waitersTrait),
    isMethodFixed: !service.protocol.startsWith('rest'),
  });
  if (effect !== undefined) return { effect };
  const nameSays = byName === undefined ? 'the name does not tell' : `the name suggests ${byName}`;
  const modelSays =
    isReadByModel === undefined
      ? 'the model does not tell'
      : `the model suggests a ${isReadByModel ? 'read' : 'change'}`;
  return { effect, reason: `${nameSays}, ${modelSays}` };
}

/** The operations of a model that a draft is about. */
interface DraftSource {
  readonly model: Model;
  /** Path of the model, relative to the file of operations. */
  readonly path: string;
  readonly operations: readonly string[];
}

/**
 * The settings of a draft, with the reads that show the progress of its changes. Every text that begins with `undecided` stands for a
 * decision of a person.
 */
function draftSettings({ model, operations }: DraftSource) {
  const name = apiName(model);
  // S3 has the endpoint of the built-in tools for object storage.
  const api = name === 's3' ? 'storage' : name;
  const follows = new Map(
    operations.map((name) => [name, followFromWaiters(model, model.operation(name), operations)] as const),
  );
  const followingReads = [...follows.values()].flatMap((follow) => follow?.read ?? []);
  const names = new Set([...operations, ...followingReads]);
  const entries = [...names].map((name) => [name, draftOperation(model, model.operation(name), follows.get(name))]);
  return { api, prefix: name.replaceAll('-', '_'), operations: Object.fromEntries(entries) };
}

function draftOperation(
  model: Model,
  operation: ModelOperation,
  follow: Follow | undefined,
): Readonly<Record<string, unknown>> {
  const { effect, reason } = guessOf(model, operation);
  const decision = effect ?? `${undecided}read, create, alter or delete? (${reason})`;
  if (effect === 'read') return { effect };
  return {
    effect: decision,
    costsMoney: `${undecided}true or false?`,
    // A change that a read follows goes on after its answer.
    ...(follow === undefined && { continues: `${undecided}false if it has ended when it is answered, else true` }),
    consequences: [`${undecided}what a person has to know before they agree, in a sentence; [] if nothing`],
    ...(follow !== undefined && { follow }),
  };
}

/** The service name of the signature, in the form of API names in settings. */
const apiName = ({ service }: Model): string =>
  service.signingName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-$/g, '')
    .slice(0, 31) || 'api';

/** A file of operations in JavaScript. */
export const draftModule = (source: DraftSource): string =>
  `export default async ({ fromModel }) =>\n  fromModel(${literal(source.path)}, ${writeValue(draftSettings(source), '  ')});\n`;

/** A file of operations in JSON. */
export const draftJson = (source: DraftSource): string =>
  `${JSON.stringify({ model: source.path, ...draftSettings(source) }, null, 2)}\n`;

/** A value as source text, in single quotes and with short objects on one line. */
function writeValue(value: unknown, indent: string): string {
  if (typeof value === 'string') return literal(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((entry) => writeValue(entry, inner))
    : Object.entries(value).map(([name, entry]) => `${propertyName(name)}: ${writeValue(entry, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }'];
  const line = `${open}${entries.join(', ')}${close}`;
  if (line.length + indent.length <= longestLine && !line.includes('\n')) return line;
  return `${open.trim()}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close.trim()}`;
}

const longestLine = 90;
const propertyName = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : literal(name));
const literal = (text: string) =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
