import type * as z from 'zod';
import type { Follow, JsonSchema } from '../../tools/define-operation.js';
import { followFinder, waitersTrait } from './draft-follow.js';
import { makeOperations } from './from-model.js';
import { draftedEffect } from './guess-effect.js';
import { hasTrait, type Model, type ModelOperation, type Shape } from './model.js';
import { modelSettings } from './model-settings.js';
import { prefixOf, shortToolNames } from './short-tool-names.js';

/** The model of a draft, and the operations that the draft is to have. */
interface DraftSource {
  readonly model: Model;
  /** Path of the model, relative to the file of operations. */
  readonly path: string;
  readonly operations: readonly string[];
}

/** An operation, and why a person has to look at it. */
interface Remark {
  readonly operation: string;
  readonly reason: string;
}

interface Draft {
  /** The text of a file of operations, which loads as it is. */
  readonly json: string;
  /** The operations whose effect the draft assumes. */
  readonly toDecide: readonly Remark[];
  /** The operations that this server cannot offer. */
  readonly leftOut: readonly Remark[];
}

/** Drafts a file for the chosen operations, and for the reads that show the progress of changes among them. */
export function draftFile(
  { model, path, operations }: DraftSource,
  toJsonSchema: (schema: z.ZodObject) => JsonSchema,
): Draft {
  const effectOf = (name: string) => effectIn(model, model.operation(name)).effect;
  const findFollow = followFinder(model);
  const follows = new Map<string, Follow>();
  for (const name of operations) {
    const follow = effectOf(name) === 'read' ? undefined : findFollow(model.operation(name), operations);
    if (follow !== undefined && effectOf(follow.read) === 'read') follows.set(name, follow);
  }
  const names = [...new Set([...operations, ...[...follows.values()].map(({ read }) => read)])];

  const prefix = prefixOf(model.service.name);
  const shortNames = shortToolNames(prefix, names);
  const drafts = names.map((name) => {
    const operation = model.operation(name);
    const { effect, unclear } = effectIn(model, operation);
    const toolName = shortNames.get(name);
    const ofChange = effect === 'read' ? {} : changeSettings(model, operation, effect);
    return { name, unclear, settings: { effect, ...(toolName !== undefined && { name: toolName }), ...ofChange } };
  });

  // `storage` is the built-in API for object storage. Tools for S3 use its endpoint.
  const api = model.service.name === 's3' ? 'storage' : model.service.name.slice(0, longestApi).replace(/-+$/, '');
  const fileOf = (operations: readonly (readonly [name: string, settings: object])[]) => ({
    api,
    prefix,
    operations: Object.fromEntries(operations),
  });
  const problemsIn = (file: object) => makeOperations(model, modelSettings.parse(file), toJsonSchema).problems;

  const problems = problemsIn(fileOf(drafts.map(({ name, settings }) => [name, settings])));
  const offered = drafts.filter(({ name }) => !problems.has(name));
  // A change is offered without a follow-up read if the read is left out, or its settings do not fit.
  const followed = offered.flatMap(({ name, settings }) => {
    const follow = follows.get(name);
    return follow === undefined || problems.has(follow.read) ? [] : [[name, { ...settings, follow }] as const];
  });
  const followProblems = problemsIn(fileOf(followed));
  const settingsWithFollow = new Map(followed.filter(([name]) => !followProblems.has(name)));

  const file = fileOf(offered.map(({ name, settings }) => [name, settingsWithFollow.get(name) ?? settings]));
  return {
    json: `${JSON.stringify({ model: path, ...file }, null, 2)}\n`,
    toDecide: offered.flatMap(({ name, settings: { effect }, unclear }) =>
      unclear === undefined ? [] : [{ operation: name, reason: `is drafted as ${effect}, because ${unclear}` }],
    ),
    leftOut: [...problems].map(([operation, reason]) => ({ operation, reason })),
  };
}

/** Maximum length of the name of an API in settings. */
const longestApi = 31;

const effectIn = ({ service }: Model, { name, http, traits }: ModelOperation) =>
  draftedEffect({
    name,
    method: http.method,
    isReadonly: hasTrait(traits, 'smithy.api#readonly') || hasTrait(traits, waitersTrait),
    isMethodFixed: !service.protocol.startsWith('rest'),
  });

/** Returns the settings that only a change has. What costs money and what follows from the change, only a person can add. */
function changeSettings(model: Model, operation: ModelOperation, effect: string) {
  const [errorField] = errorFields(model, operation);
  return {
    ...(effect === 'delete' && { costsMoney: false }),
    ...(errorField !== undefined && { errorField }),
  };
}

/** Returns the names of the texts in an answer that may be the error of a change that failed although the cloud answered with a success. */
const errorFields = ({ shape }: Model, { output }: ModelOperation): readonly string[] =>
  output.members
    .filter(({ name, target }) => namesErrorOfChange.test(name) && isText(shape(target)))
    .map(({ name }) => name);
const isText = (value: Shape) => value.kind === 'enum' || (value.kind === 'simple' && value.type === 'string');

/** Matches the names of fields with the error of a whole change, such as `FunctionError` of a function that ran and failed. */
const namesErrorOfChange = /^(?:function)?error(?:code)?$/i;
