import type { Effect, Follow } from '../../tools/define-operation.js';
import { followFromWaiters, waitersTrait } from './draft-follow.js';
import { guessEffect } from './guess-effect.js';
import { hasTrait, type Model, type ModelOperation, type Shape } from './model.js';
import { undecided } from './model-settings.js';

/** One operation in the list of a model's operations. */
interface DraftRow {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  /** The guessed effect, or `unclear` if a person has to decide. */
  readonly effect: Effect | 'unclear';
  /** The reason why the effect is unclear. */
  readonly reason?: string;
}

/** Lists the operations of a model, with a guess of the effect of each. */
export const draftRows = (model: Model): readonly DraftRow[] =>
  model.names.map((name) => {
    const operation = model.operation(name);
    const { method, uri } = operation.http;
    const { effect, reason } = guessOf(model, operation);
    return { operation: name, method, path: uri, effect: effect ?? 'unclear', ...(reason !== undefined && { reason }) };
  });

const guessOf = ({ service }: Model, { name, http, traits }: ModelOperation) =>
  guessEffect({
    name,
    method: http.method,
    isReadonly: hasTrait(traits, 'smithy.api#readonly') || hasTrait(traits, waitersTrait),
    isMethodFixed: !service.protocol.startsWith('rest'),
  });

/** The model of a draft, and the operations that the draft is to have. */
interface DraftSource {
  readonly model: Model;
  /** Path of the model, relative to the file of operations. */
  readonly path: string;
  readonly operations: readonly string[];
}

/** Returns the settings of a draft: for the chosen operations, and for the reads that show the progress of changes among them. */
function draftSettings({ model, operations }: DraftSource) {
  const serviceName = signingServiceName(model);
  // `storage` is the built-in API for object storage. Tools for S3 use its endpoint.
  const api = serviceName === 's3' ? 'storage' : serviceName;

  const follows = new Map<string, Follow>();
  for (const name of operations) {
    const follow = followFromWaiters(model, model.operation(name), operations);
    if (follow !== undefined) follows.set(name, follow);
  }

  const readNames = [...follows.values()].map((follow) => follow.read);
  const names = new Set([...operations, ...readNames]);
  const entries = [...names].map((name) => [name, draftOperation(model, model.operation(name), follows.get(name))]);
  return { api, prefix: serviceName.replaceAll('-', '_'), operations: Object.fromEntries(entries) };
}

/** Returns the settings of one operation. Each text that begins with `undecided` asks a person for a decision about a change. */
function draftOperation(
  model: Model,
  operation: ModelOperation,
  follow: Follow | undefined,
): Readonly<Record<string, unknown>> {
  const { effect, reason } = guessOf(model, operation);
  if (effect === 'read') return { effect };
  const failures = failureLists(model, operation);
  const errors = errorFields(model, operation);
  return {
    effect: effect ?? `${undecided}read, create, alter or delete? (${reason})`,
    costsMoney: `${undecided}true or false?`,
    // A change with `follow` goes on after its answer, which is the default of `continues`.
    ...(follow === undefined && { continues: `${undecided}false if it has ended when it is answered, else true` }),
    consequences: [`${undecided}what a person has to know before they agree, in a sentence; [] if nothing`],
    ...(failures.length > 0 && {
      failures: `${undecided}${failures.join(' or ')}, if it lists the entries that failed; else leave it out`,
    }),
    ...(errors.length > 0 && {
      errorField: `${undecided}${errors.join(' or ')}, if only the answer to a change that failed has it; else leave it out`,
    }),
    ...(follow !== undefined && { follow }),
  };
}

/** Returns the names of the lists and maps in an answer whose entries may have failed although the cloud accepted the change. */
function failureLists({ shape }: Model, { output }: ModelOperation): readonly string[] {
  const isOfErrors = (entry: Shape) =>
    entry.kind === 'structure' && entry.members.some(({ name }) => namesErrorOfEntry.test(name));
  return output.members
    .filter(({ name, target }) => {
      const value = shape(target);
      if (value.kind !== 'list' && value.kind !== 'map') return false;
      const entry = shape(value.kind === 'list' ? value.member.target : value.value.target);
      // The values of a map are entries, or lists of entries. Other maps, such as a map of messages, are not counted.
      const mayHoldEntries = value.kind === 'list' || ['list', 'structure'].includes(entry.kind);
      return mayHoldEntries && (isOfErrors(entry) || namesFailures.test(name));
    })
    .map(({ name }) => name);
}

/** Returns the names of the texts in an answer that may be the error of a change that failed although the cloud answered with a success. */
const errorFields = ({ shape }: Model, { output }: ModelOperation): readonly string[] =>
  output.members
    .filter(({ name, target }) => namesErrorOfChange.test(name) && isText(shape(target)))
    .map(({ name }) => name);
const isText = (value: Shape) => value.kind === 'enum' || (value.kind === 'simple' && value.type === 'string');

/** Matches the names of lists and maps of failed entries, such as `Errors`, `FailedEntries` and `UnprocessedItems`. */
const namesFailures = /error|fail|unprocessed|unsuccessful|rejected/i;
/** Matches the names of fields with the error of a whole change, such as `FunctionError` of a function that ran and failed. */
const namesErrorOfChange = /^(?:function)?error(?:code)?$/i;
/** Matches the names of fields that hold the code or the message of one failed entry, such as `ErrorCode`. */
const namesErrorOfEntry = /^(?:error)?code$|^error(?:message|type)?$/i;

/** Returns the service name in signatures, in the form that settings require for names of APIs. */
const signingServiceName = ({ service }: Model): string =>
  service.signingName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-$/g, '')
    .slice(0, 31) || 'api';

/** Returns the text of a file of operations. */
export const draftJson = (source: DraftSource): string =>
  `${JSON.stringify({ model: source.path, ...draftSettings(source) }, null, 2)}\n`;
