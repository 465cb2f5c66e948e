import { relative } from 'node:path';
import { draftJson, draftRows } from '../operations/model/draft.js';
import { openModel } from '../operations/model/from-model.js';
import type { Model } from '../operations/model/model.js';
import { UnusableFile } from '../operations/unusable-file.js';
import { defined, exact, own, say } from '../util/safe-text.js';
import { notOneOf, type Terminal, UsageError } from './command.js';
import { columnsOf, wrapped } from './layout.js';

/** The arguments of `operations draft`. */
interface DraftRequest {
  /** Path of the model of an API, such as a Smithy model. */
  readonly path: string;
  /** The operations to draft, separated by commas. If undefined, all operations of the model are listed instead. */
  readonly operations: string | undefined;
  /** True if the list of operations is printed as JSON. A draft always is. */
  readonly asJson: boolean;
}

/**
 * Lists the operations of a model, or prints the draft of an operation file. The draft names the model by its path from the current folder.
 * @throws UsageError
 */
export async function draftOperations({ path, operations, asJson }: DraftRequest, terminal: Terminal): Promise<number> {
  const { stdout } = terminal;
  const model = await openReadableModel(path);
  if (operations === undefined) {
    if (asJson) stdout.write(`${JSON.stringify(draftRows(model), null, 2)}\n`);
    else printRows(model, stdout);
    return 0;
  }
  const names = operations.split(',').map((name) => name.trim());
  for (const name of names)
    if (!model.names.includes(name)) throw new UsageError(notOneOf('operation', name, model.names));
  const source = { model, path: pathFromFolder(path), operations: names };
  stdout.write(draftJson(source));
  return 0;
}

/** Returns the path of the model from the current folder, where the draft is expected: `./model.json` or `../models/model.json`. */
function pathFromFolder(path: string): string {
  const fromFolder = relative('.', path).replaceAll('\\', '/');
  return fromFolder.startsWith('../') ? fromFolder : `./${fromFolder}`;
}

/** @throws UsageError if the model cannot be read */
async function openReadableModel(path: string): Promise<Model> {
  try {
    return await openModel('.', path);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    // The problems can be shown as they are: they are sentences of this program, and quote any text of the model.
    throw new UsageError(...error.problems.map((problem) => say`${defined(problem)}.`));
  }
}

function printRows(model: Model, stdout: Terminal['stdout']): void {
  const rows = draftRows(model);
  const width = Math.max(0, ...rows.map(({ operation }) => operation.length));
  for (const { operation, method, path, effect, reason } of rows) {
    const why = reason === undefined ? say`` : say` (${defined(reason)})`;
    const row = say`${exact(operation.padEnd(width))}  ${own(effect)}${why}  ${own(method)} ${exact(path)}`;
    stdout.write(`${wrapped(row, columnsOf(stdout), { start: 0, indent: 4 }).join('\n')}\n`);
  }
}
