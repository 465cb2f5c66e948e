import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import type { JsonSchema, Operation } from '../../tools/define-operation.js';
import { consentArguments, planArguments } from '../../tools/schema/fields.js';
import { reasonOf } from '../../util/log.js';
import { quote, quoteName } from '../../util/quote.js';
import { chooseOperation } from './chosen-operation.js';
import { createCodec } from './codec.js';
import { fitListings, listingsOf } from './fit-listings.js';
import { type Model, ModelError } from './model.js';
import { modelOperation } from './model-operation.js';
import { ModelProblems } from './model-problems.js';
import { type ModelSettings, readSettings } from './model-settings.js';
import { readModel } from './read-model.js';

/** Makes operations from a model, which is a file beside the file of operations. */
export type FromModel = (path: string, settings: ModelSettings) => Promise<readonly Operation[]>;

/** Returns the schema that models read for an object of arguments. */
type ListArguments = (schema: z.ZodObject) => JsonSchema;

/**
 * Returns the function of the kit that makes operations from models.
 * @param folder of the file of operations
 */
export const createFromModel =
  (folder: string, listArguments: ListArguments): FromModel =>
  async (path, given) => {
    const read = readSettings(given);
    if (read.kind === 'problems') throw new ModelProblems(read.problems);
    const { settings } = read;
    const model = await openModel(folder, path);
    const propertiesOf = (shape: z.ZodRawShape) => Object(listArguments(z.strictObject(shape)).properties);
    const control = { repeatable: propertiesOf(planArguments()), other: propertiesOf(consentArguments()) };
    const context = { model, codec: createCodec(model), settings, control };
    const names = Object.entries(settings.operations);
    const chosen = allOrProblems(names, ([name, operation]) => {
      const one = chooseOperation(context, name, operation);
      return [name, one, listingsOf(context, one)] as const;
    });
    const fitListing = fitListings(chosen.map(([, , listings]) => listings));
    return allOrProblems(chosen, ([, one, listings]) => modelOperation(context, one, fitListing(listings)));
  };

/**
 * Makes a result of each entry.
 * @throws ModelProblems with the problem of every entry that cannot be used
 */
function allOrProblems<Entry extends readonly [name: string, ...unknown[]], Result>(
  entries: readonly Entry[],
  make: (entry: Entry) => Result,
): readonly Result[] {
  const problems: string[] = [];
  const results = entries.flatMap((entry) => {
    try {
      return [make(entry)];
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      problems.push(`operations.${quoteName(entry[0])}: ${error.message}`);
      return [];
    }
  });
  if (problems.length > 0) throw new ModelProblems(problems);
  return results;
}

/** Bytes. */
const largestModel = 25_000_000;

/**
 * Reads a model, and the paginators and waiters beside a model of botocore.
 * @throws ModelProblems
 */
export async function openModel(folder: string, path: string): Promise<Model> {
  const file = resolve(folder, path);
  try {
    if ((await stat(file)).size > largestModel) throw new ModelError(`it has more than ${largestModel / 1e6} MB`);
    const beside = (name: string) => readFile(join(dirname(file), name), 'utf8').catch(() => undefined);
    const [text, paginators, waiters] = await Promise.all([
      readFile(file, 'utf8'),
      beside('paginators-1.json'),
      beside('waiters-2.json'),
    ]);
    return readModel(text, { paginators, waiters });
  } catch (error) {
    const reason = error instanceof ModelError ? error.message : `it cannot be read (${reasonOf(error)})`;
    throw new ModelProblems([`the model ${quote(path, 100)}: ${reason}`]);
  }
}
