import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import type { JsonSchema, Operation } from '../../tools/define-operation.js';
import { consentArguments, planArguments } from '../../tools/schema/fields.js';
import { reasonOf } from '../../util/log.js';
import { valueAt } from '../../util/objects.js';
import { quote, quoteName } from '../../util/quote.js';
import { UnusableFile } from '../unusable-file.js';
import { convertBotocore, isBotocore } from './botocore.js';
import { chooseOperation } from './chosen-operation.js';
import { createCodec } from './codec.js';
import { listingChooser, listingsOf } from './fit-listings.js';
import { type Model, ModelError, parseModelJson, readAst } from './model.js';
import { modelOperation } from './model-operation.js';
import { type ModelSettings, readSettings } from './model-settings.js';

/** Makes operations from a model. The path of the model is relative to the file of operations. */
export type FromModel = (path: string, settings: ModelSettings) => Promise<readonly Operation[]>;

/** Returns the JSON Schema of arguments, as hosts see it. */
type ToJsonSchema = (schema: z.ZodObject) => JsonSchema;

/** Returns the function of the kit that makes operations from models. `folder` is the folder of the file of operations. */
export const createFromModel =
  (folder: string, toJsonSchema: ToJsonSchema): FromModel =>
  async (path, uncheckedSettings) => {
    const read = readSettings(uncheckedSettings);
    if (read.kind === 'problems') throw new UnusableFile(...read.problems);
    const { settings: fileSettings } = read;
    const model = await openModel(folder, path);

    // `Object`, because the type of a JSON Schema does not say what `properties` is.
    const schemasOf = (shape: z.ZodRawShape): Readonly<Record<string, JsonSchema>> =>
      Object(toJsonSchema(z.strictObject(shape)).properties);
    // The arguments that this server adds to changes, as hosts see them.
    const controlArguments = { repeatable: schemasOf(planArguments()), notRepeatable: schemasOf(consentArguments()) };
    const context = { model, codec: createCodec(model), fileSettings, controlArguments };

    // The listings of an operation are its entry in the list of tools, at several levels of detail.
    const requested = Object.entries(fileSettings.operations).map(([name, settings]) => ({ name, settings }));
    const withListings = allOrProblems(requested, ({ name, settings }) => {
      const chosen = chooseOperation(context, name, settings);
      return { name, chosen, listings: listingsOf(context, chosen) };
    });
    // How much detail fits depends on the sizes of all tools, so all listings are known before the first operation is made.
    const chooseListing = listingChooser(withListings.map(({ listings }) => listings));
    return allOrProblems(withListings, ({ chosen, listings }) =>
      modelOperation(context, chosen, chooseListing(listings)),
    );
  };

/**
 * Calls `make` for each entry. `name` is the name of the entry's operation in the model.
 * @throws UnusableFile after the last entry, with the problems of all entries for which `make` has thrown a `ModelError`
 */
function allOrProblems<Entry extends { readonly name: string }, Result>(
  entries: readonly Entry[],
  make: (entry: Entry) => Result,
): readonly Result[] {
  const results: Result[] = [];
  const problems: string[] = [];
  for (const entry of entries) {
    try {
      results.push(make(entry));
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      problems.push(`operations.${quoteName(entry.name)}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new UnusableFile(...problems);
  return results;
}

/** Size limit of a model (bytes). */
const largestModel = 25_000_000;

/**
 * Reads a model: the AST of Smithy 2.0, or botocore's `service-2.json` with the pages and waiters in the files next to it.
 * @throws UnusableFile if the model or such a file cannot be read or used
 */
export async function openModel(folder: string, path: string): Promise<Model> {
  const file = resolve(folder, path);
  /** Reads a file next to the model. Most models have no such files. */
  const readCompanion = async (name: string) => {
    try {
      return await readJson(join(dirname(file), name));
    } catch (error) {
      if (valueAt(error, 'code') === 'ENOENT') return undefined;
      throw new ModelError(`${name} next to it: ${reasonFor(error)}`);
    }
  };
  try {
    const json = await readJson(file);
    if (!isBotocore(json)) return readAst(json);
    const paginators = await readCompanion('paginators-1.json');
    return readAst(convertBotocore(json, { paginators, waiters: await readCompanion('waiters-2.json') }));
  } catch (error) {
    throw new UnusableFile(`the model ${quote(path, 100)}: ${reasonFor(error)}`);
  }
}

async function readJson(file: string): Promise<Readonly<Record<string, unknown>>> {
  if ((await stat(file)).size > largestModel) throw new ModelError(`it has more than ${largestModel / 1e6} MB`);
  return parseModelJson(await readFile(file, 'utf8'));
}

const reasonFor = (error: unknown): string =>
  error instanceof ModelError ? error.message : `it cannot be read (${reasonOf(error)})`;
