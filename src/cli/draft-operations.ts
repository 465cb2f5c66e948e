import { relative } from 'node:path';
import { draftFile } from '../models/draft.js';
import { openModel } from '../models/from-model.js';
import { defined, own, say } from '../util/safe-text.js';
import { notOneOf, type Terminal, UsageError } from './command.js';
import { printLine } from './layout.js';
import { hostRules } from './load-operation-files.js';

/** Prints a file of operations for a model, and on stderr what a person has to decide. `chosen` has names separated by commas. @throws UsageError or UnusableFile */
export async function draftOperations(path: string, chosen: string | undefined, { stdout, stderr }: Terminal) {
  const model = await openModel('.', path);
  const isAll = chosen === undefined || chosen === 'all';
  const operations = isAll ? model.names : chosen.split(',').map((name) => name.trim());
  for (const name of operations)
    if (!model.names.includes(name)) throw new UsageError(notOneOf('operation', name, model.names));
  const { json, toDecide, leftOut } = draftFile({ model, path: pathFromFolder(path), operations }, hostRules(false));
  stdout.write(json);
  for (const { operation, reason } of leftOut) printLine(stderr, say`left out: ${own(operation)}: ${defined(reason)}.`);
  for (const { operation, reason } of toDecide)
    printLine(stderr, say`to decide: the effect of ${own(operation)}, which ${defined(reason)}.`);
  return 0;
}

/** The draft is expected in the current folder. */
function pathFromFolder(path: string): string {
  const fromFolder = relative('.', path).replaceAll('\\', '/');
  return fromFolder.startsWith('../') ? fromFolder : `./${fromFolder}`;
}
