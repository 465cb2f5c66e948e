import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as z from 'zod';
import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { consentArguments, planArguments } from '../tools/schema/fields.js';
import { fileFault } from '../util/log.js';
import { lazy, valueAt } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { convertBotocore, isBotocore } from './botocore.js';
import { type ControlArguments, chooseOperation } from './chosen-operation.js';
import { createCodec } from './codec.js';
import { commonSizeLimit, listingFitter, unlimitedFitter } from './fit-listings.js';
import { type Model, ModelError, parseModelJson, readAst } from './model.js';
import { followFinder, preflightOf } from './model-follow.js';
import { modelOperation } from './model-operation.js';
import { type ParsedSettings, readSettings } from './model-settings.js';
import { UnusableFile } from './settings-schema.js';

/** The rules of hosts, and of this server, for the tools of a model. */
export interface ToolRules {
  readonly inputSchema: (schema: z.ZodObject) => JsonSchema;
  /** True if the tools list arguments for names of secrets. Calls may have them even if they are not listed. */
  readonly listsSecretNames: boolean;
  /** False for operations that are no tools of their own, so that no list limits their schemas. */
  readonly isListed?: false;
}

/**
 * Makes operations from a model, whose path is relative to `folder`.
 * @throws UnusableFile if the model or the settings cannot be used
 */
export async function operationsFromModel(
  folder: string,
  path: string,
  settings: unknown,
  rules: ToolRules,
): Promise<readonly Operation[]> {
  const fileSettings = readSettings(settings);
  const { operations, problems } = makeOperations(await openModel(folder, path), fileSettings, rules);
  if (problems.size > 0)
    throw new UnusableFile(...[...problems].map(([name, problem]) => `operations.${quoteName(name)}: ${problem}`));
  return operations;
}

/** Makes the operations that settings choose from a model, and collects the problems of the others by name. */
export function makeOperations(
  model: Model,
  fileSettings: ParsedSettings,
  { inputSchema, listsSecretNames, isListed }: ToolRules,
): { readonly operations: readonly Operation[]; readonly problems: ReadonlyMap<string, string> } {
  const problems = new Map<string, string>();
  const madeOrProblem = <Made>(name: string, make: () => Made): readonly Made[] => {
    try {
      return [make()];
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      problems.set(name, error.message);
      return [];
    }
  };
  // `consentArguments` also has `allowRepeat`, which a repeatable change does not need.
  const controlArguments = {
    repeatable: withListing(planArguments(), inputSchema),
    notRepeatable: withListing(consentArguments(), inputSchema),
  };
  const choice = { model, codec: createCodec(model), fileSettings, controlArguments, listsSecretNames };

  const tools = Object.entries(fileSettings.operations).flatMap(([name, settings]) =>
    madeOrProblem(name, () => {
      const chosen = chooseOperation(choice, name, settings);
      return { name, chosen, fitListing: isListed === false ? unlimitedFitter(chosen) : listingFitter(chosen) };
    }),
  );
  // How much detail fits depends on the sizes of all tools, so the size limit is known only now.
  const sizeLimit = commonSizeLimit(tools.map(({ fitListing }) => fitListing));
  const reads = tools.flatMap(({ name, chosen }) => (chosen.settings.effect === 'read' ? [name] : []));
  const context = {
    ...choice,
    chosen: lazy(() => new Map(tools.map(({ name, chosen }) => [name, chosen]))),
    findFollow: lazy(() => followFinder(model, reads)),
  };
  const made = tools.flatMap(({ name, chosen, fitListing }) =>
    madeOrProblem(name, () => modelOperation(context, chosen, fitListing(sizeLimit))),
  );
  const operations = made.map((operation) => ({ ...operation, ...preflightOf(context, operation, made) }));
  return { operations, problems };
}

function withListing(schemas: ControlArguments['schemas'], toJsonSchema: ToolRules['inputSchema']): ControlArguments {
  // `Object`, because the type of a JSON Schema does not say what `properties` is.
  return { schemas, listing: Object(toJsonSchema(z.strictObject(schemas)).properties) };
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
  return parseModelJson((file.endsWith('.gz') ? await decompressed(content) : content).toString('utf8'));
}

const tooLarge = () => new ModelError(`it has more than ${largestModel / 1e6} MB`);

async function decompressed(content: Buffer): Promise<Buffer> {
  try {
    return await promisify(gunzip)(content, { maxOutputLength: largestModel });
  } catch (error) {
    throw valueAt(error, 'code') === 'ERR_BUFFER_TOO_LARGE'
      ? tooLarge()
      : new ModelError('it is not compressed by gzip');
  }
}

const reasonFor = (error: unknown): string =>
  error instanceof ModelError ? error.message : `it cannot be read (${fileFault(error)})`;
