import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Operation } from '../../tools/define-operation.js';
import { reasonOf } from '../../util/log.js';
import { quote, quoteName } from '../../util/quote.js';
import { createCodec } from './codec.js';
import { type Model, ModelError } from './model.js';
import { modelOperation, type SchemaSize } from './model-operation.js';
import { ModelProblems } from './model-problems.js';
import { type ModelSettings, readSettings } from './model-settings.js';
import { readModel } from './read-model.js';

/** Makes operations from a model, which is a file beside the file of operations. */
export type FromModel = (path: string, settings: ModelSettings) => Promise<readonly Operation[]>;

/**
 * Returns the function of the kit that makes operations from models.
 * @param folder of the file of operations
 */
export const createFromModel =
  (folder: string, sizeOf: SchemaSize): FromModel =>
  async (path, given) => {
    const read = readSettings(given);
    if (read.kind === 'problems') throw new ModelProblems(read.problems);
    const { settings } = read;
    const model = await openModel(folder, path);
    const context = { model, codec: createCodec(model), settings, sizeOf };
    const operations: Operation[] = [];
    const problems: string[] = [];
    for (const [name, operationSettings] of Object.entries(settings.operations))
      try {
        operations.push(modelOperation(context, name, operationSettings));
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        problems.push(`operations.${quoteName(name)}: ${error.message}`);
      }
    if (problems.length > 0) throw new ModelProblems(problems);
    return operations;
  };

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
