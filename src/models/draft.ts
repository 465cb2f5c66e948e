import { type ToolRules, wordsOf } from './chosen-operation.js';
import { makeOperations } from './from-model.js';
import { draftedEffect } from './guess-effect.js';
import type { Model } from './model.js';
import { followFinder } from './model-follow.js';
import { modelSettings } from './model-settings.js';

/** @param path relative to the file of operations */
export function draftFile(
  { model, path, operations }: { readonly model: Model; readonly path: string; readonly operations: readonly string[] },
  rules: ToolRules,
) {
  const effectOf = (name: string) => draftedEffect(model, model.operation(name)).effect;
  const findFollow = followFinder(model, model.names);
  // The file has no `follow`, because loading it finds the same read among its operations.
  const reads = operations.flatMap((name) => {
    const follow = effectOf(name) === 'read' ? undefined : findFollow(model.operation(name), operations);
    return follow !== undefined && effectOf(follow.read) === 'read' ? [follow.read] : [];
  });
  const names = [...new Set([...operations, ...reads])];

  const prefix = shortened(model.service.name.split('-'), 16);
  const shortNames = shortToolNames(prefix, names);
  const drafts = names.map((name) => {
    const operation = model.operation(name);
    const { effect, unclear } = draftedEffect(model, operation);
    const toolName = shortNames.get(name);
    return {
      name,
      unclear,
      settings: {
        effect,
        ...(toolName !== undefined && { name: toolName }),
        // Only a person can add the costs and the consequences.
        ...(effect === 'delete' && { costsMoney: false }),
      },
    };
  });

  // Tools for S3 use the endpoint of the built-in `storage` API.
  const api = model.service.name === 's3' ? 'storage' : model.service.name.slice(0, 31).replace(/-+$/, '');
  const fileOf = (chosen: typeof drafts) => ({
    api,
    prefix,
    operations: Object.fromEntries(chosen.map(({ name, settings }) => [name, settings])),
  });
  const { problems } = makeOperations(model, modelSettings.parse(fileOf(drafts)), rules);
  const offered = drafts.filter(({ name }) => !problems.has(name));
  return {
    json: `${JSON.stringify({ model: path, ...fileOf(offered) }, null, 2)}\n`,
    toDecide: offered.flatMap(({ name, settings: { effect }, unclear }) =>
      unclear === undefined ? [] : [{ operation: name, reason: `is drafted as ${effect}, because ${unclear}` }],
    ),
    leftOut: [...problems].map(([operation, reason]) => ({ operation, reason })),
  };
}

/** Characters. Models take names of at most 64, and hosts add a prefix. */
const longestToolName = 49;

function shortToolNames(prefix: string, operations: readonly string[]): ReadonlyMap<string, string> {
  const wordsByName = new Map(operations.map((operation) => [operation, [prefix, ...wordsOf(operation)]]));
  const isLong = (words: readonly string[]) => words.join('_').length > longestToolName;
  const taken = new Set([...wordsByName.values()].filter((words) => !isLong(words)).map((words) => words.join('_')));
  const shortNames = new Map<string, string>();
  for (const [operation, words] of wordsByName) {
    if (!isLong(words)) continue;
    let name = shortened(words, longestToolName);
    for (let number = 2; taken.has(name); number += 1) name = shortened([...words, String(number)], longestToolName);
    taken.add(name);
    shortNames.set(operation, name);
  }
  return shortNames;
}

function shortened(words: readonly string[], limit: number): string {
  let pieces = [...words];
  while (pieces.join('_').length > limit) {
    const longest = Math.max(...pieces.map(({ length }) => length));
    const index = pieces.findLastIndex(({ length }) => length === longest);
    pieces[index] = pieces[index]?.slice(0, -1) ?? '';
    pieces = pieces.filter((piece) => piece !== '');
  }
  return pieces.join('_');
}
