import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as z from 'zod';
import type { Operation } from '../tools/define-operation.js';
import { consentArguments } from '../tools/schema/fields.js';
import { fileFault } from '../util/log.js';
import { lazy, valueAt } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { convertBotocore, isBotocore } from './botocore.js';
import { chooseOperation, type ModelContext, type ModelSource, type ToolRules } from './chosen-operation.js';
import { type Model, ModelError, parseModelJson, readAst } from './model.js';
import { followFinder } from './model-follow.js';
import { modelOperation } from './model-operation.js';
import type { ParsedSettings } from './model-settings.js';
import { UnusableFile } from './model-settings.js';

export function makeOperations(
  model: Model,
  { operations: settings, ...file }: ParsedSettings,
  rules: ToolRules,
): { readonly operations: readonly Operation[]; readonly problems: ReadonlyMap<string, string> } {
  const names = Object.keys(settings);
  const problems = new Map<string, string>();
  const make = operationMaker({ model, file, names, settingsOf: (name) => settings[name], rules });
  const operations = names.flatMap((name) => {
    try {
      return [make(name)];
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      problems.set(name, error.message);
      return [];
    }
  });
  return { operations, problems };
}

/** Returns the function that makes an operation of a model. @throws ModelError if the operation cannot be offered */
export function operationMaker(source: ModelSource): (name: string) => Operation {
  const { model, names, settingsOf, rules } = source;
  const isRead = (name: string) => settingsOf(name)?.effect === 'read';
  const context: ModelContext = {
    ...source,
    loadCodec: lazy(() => import('./codec.js').then(({ createCodec }) => createCodec(model))),
    ofChanges: {
      schemas: consentArguments(),
      // `Object`, because the type of a JSON Schema does not say what `properties` is.
      listing: Object(rules.inputSchema?.(z.strictObject(consentArguments())).properties),
    },
    findFollow: lazy(() => followFinder(model, names.filter(isRead))),
    // Several changes may be shown by the same read.
    choose: memoized((name) => chooseOperation(context, name)),
    operation: memoized((name) => modelOperation(context, name)),
  };
  return context.operation;
}

/** Makes each value once, and keeps the 100 values that were used last. Errors are not kept. */
function memoized<Value>(make: (name: string) => Value): (name: string) => Value {
  const made = new Map<string, Value>();
  return (name) => {
    const value = made.get(name) ?? make(name);
    made.delete(name);
    made.set(name, value);
    for (const oldest of [...made.keys()].slice(0, -100)) made.delete(oldest);
    return value;
  };
}

/** Size limit of a model, also after decompression (bytes). */
const largestModel = 25_000_000;

/**
 * Reads a model: the AST of Smithy 2.0, or botocore's `service-2.json` with its pages and waiters.
 * Each file may be compressed (`.json.gz`).
 * @throws UnusableFile if a file cannot be read or used
 */
export async function openModel(folder: string, path: string): Promise<Model> {
  const file = resolve(folder, path);
  const readCompanion = async (name: string): Promise<Readonly<Record<string, unknown>> | undefined> => {
    try {
      return await readJson(join(dirname(file), name));
    } catch (error) {
      if (valueAt(error, 'code') !== 'ENOENT') throw new ModelError(`${name} next to it: ${reasonFor(error)}`);
      return name.endsWith('.gz') ? undefined : readCompanion(`${name}.gz`);
    }
  };
  try {
    const json = await readJson(file);
    if (!isBotocore(json)) return readAst(json);
    const paginators = await readCompanion('paginators-1.json');
    return readAst(convertBotocore(json, { paginators, waiters: await readCompanion('waiters-2.json') }));
  } catch (error) {
    const isMissing = valueAt(error, 'code') === 'ENOENT';
    const hint = isMissing ? `. Write its path as seen from the folder ${quote(resolve(folder), 500)}` : '';
    throw new UnusableFile(`the model ${quote(path, 100)}: ${reasonFor(error)}${hint}`);
  }
}

async function readJson(file: string): Promise<Readonly<Record<string, unknown>>> {
  const stats = await stat(file);
  // Reading a FIFO or a device may never end.
  if (!stats.isFile()) throw new ModelError('it is not a regular file');
  if (stats.size > largestModel) throw tooLarge();
  const content = await readFile(file);
  if (!file.endsWith('.gz')) return parseModelJson(content.toString('utf8'));
  const decompressed = await promisify(gunzip)(content, { maxOutputLength: largestModel }).catch((error: unknown) => {
    const isTooLarge = valueAt(error, 'code') === 'ERR_BUFFER_TOO_LARGE';
    throw isTooLarge ? tooLarge() : new ModelError('it is not compressed by gzip');
  });
  return parseModelJson(decompressed.toString('utf8'));
}

const tooLarge = () => new ModelError(`it has more than ${largestModel / 1e6} MB`);

const reasonFor = (error: unknown): string =>
  error instanceof ModelError ? error.message : `it cannot be read (${fileFault(error)})`;
