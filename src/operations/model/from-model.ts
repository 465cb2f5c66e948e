import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import type { JsonSchema, Operation } from '../../tools/define-operation.js';
import { consentArguments, planArguments } from '../../tools/schema/fields.js';
import { reasonOf } from '../../util/log.js';
import { quote, quoteName } from '../../util/quote.js';
import { type BotocoreCompanions, convertBotocore, isBotocore } from './botocore.js';
import { chooseOperation } from './chosen-operation.js';
import { createCodec } from './codec.js';
import { fitListings, listingsOf } from './fit-listings.js';
import { type Model, ModelError, parseModelJson, readAst } from './model.js';
import { modelOperation } from './model-operation.js';
import { ModelProblems } from './model-problems.js';
import { type ModelSettings, readSettings } from './model-settings.js';

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
  async (path, fileSettings) => {
    const read = readSettings(fileSettings);
    if (read.kind === 'problems') throw new ModelProblems(read.problems);
    const { settings } = read;
    const model = await openModel(folder, path);
    const listShape = (shape: z.ZodRawShape) => Object(listArguments(z.strictObject(shape)).properties);
    const control = { repeatable: listShape(planArguments()), other: listShape(consentArguments()) };
    const context = { model, codec: createCodec(model), settings, control };
    const chosen = allOrProblems(Object.entries(settings.operations), (operationSettings, name) => {
      const operation = chooseOperation(context, name, operationSettings);
      return { operation, listings: listingsOf(context, operation) };
    });
    const fitListing = fitListings(chosen.map(([, { listings }]) => listings));
    const operations = allOrProblems(chosen, ({ operation, listings }) =>
      modelOperation(context, operation, fitListing(listings)),
    );
    return operations.map(([, operation]) => operation);
  };

/**
 * Makes a result of each entry, by the name of its operation.
 * @throws ModelProblems with the problem of every entry that cannot be used
 */
function allOrProblems<Entry, Result>(
  entries: readonly (readonly [name: string, entry: Entry])[],
  make: (entry: Entry, name: string) => Result,
): readonly (readonly [name: string, result: Result])[] {
  const results: [string, Result][] = [];
  const problems: string[] = [];
  for (const [name, entry] of entries) {
    try {
      results.push([name, make(entry, name)]);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      problems.push(`operations.${quoteName(name)}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new ModelProblems(problems);
  return results;
}

/** Size limit of a model (bytes). */
const largestModel = 25_000_000;

/**
 * Reads a model, and the paginators and waiters beside a model of botocore.
 * @throws ModelProblems
 */
export async function openModel(folder: string, path: string): Promise<Model> {
  const file = resolve(folder, path);
  try {
    if ((await stat(file)).size > largestModel) throw new ModelError(`it has more than ${largestModel / 1e6} MB`);
    const readCompanion = (name: string) => readFile(join(dirname(file), name), 'utf8').catch(() => undefined);
    const [text, paginators, waiters] = await Promise.all([
      readFile(file, 'utf8'),
      readCompanion('paginators-1.json'),
      readCompanion('waiters-2.json'),
    ]);
    return readModel(text, { paginators, waiters });
  } catch (error) {
    const reason = error instanceof ModelError ? error.message : `it cannot be read (${reasonOf(error)})`;
    throw new ModelProblems([`the model ${quote(path, 100)}: ${reason}`]);
  }
}

/** Texts of the files beside a model of botocore, by kind. A file that is not there is undefined. */
type CompanionTexts = Readonly<Record<keyof BotocoreCompanions, string | undefined>>;

/**
 * Reads a model: the JSON AST of Smithy 2.0, or botocore's `service-2.json`.
 * @throws ModelError
 */
export function readModel(text: string, companions: Partial<CompanionTexts> = {}): Model {
  const json = parseModelJson(text);
  if (!isBotocore(json)) return readAst(json);
  const parsed = Object.entries(companions).flatMap(([kind, content]) =>
    content === undefined ? [] : [[kind, parseModelJson(content)]],
  );
  return readAst(convertBotocore(json, Object.fromEntries(parsed)));
}
