import type { Effect, Operation } from '../tools/define-operation.js';
import { lazy } from '../util/objects.js';
import { fieldsAtAnyDepth } from './argument-names.js';
import { structureOf } from './arguments.js';
import { changeSettings } from './draft.js';
import { makeOperations, openModel } from './from-model.js';
import { effectOf } from './guess-effect.js';
import { type Model, ModelError, type ModelOperation } from './model.js';
import { followFinder } from './model-follow.js';
import { readSettings, type ServiceSettings } from './model-settings.js';
import type { ServiceSource } from './service-sources.js';
import { UnusableFile } from './settings-schema.js';

/** A service whose model is loaded. */
export interface OpenService {
  readonly model: Model;
  /** Returns an operation that can be made, if there is one. */
  anyOperation(): Operation | undefined;
  /** Makes one operation of the model. @throws ModelError or UnusableFile */
  operation(name: string): Operation;
}

type ServiceOperationSettings = Partial<NonNullable<ServiceSettings['operations']>[string]>;

/** The ends of names of fields that hold secrets only in an answer that gives out secrets, such as an address with a signature. */
const endOfSecret = /(?:ur[il]|location|value|(?<=unlock)code)$/i;

function secretsIn(model: Model, { output }: ModelOperation): string[] {
  const names = fieldsAtAnyDepth(structureOf(model, output).fields()).map(({ memberName }) => memberName);
  return [...new Set(names.filter((name) => endOfSecret.test(name)))];
}

/** Operations that are kept. */
const mostKept = 50;

/** Loads the model of a service. @throws UnusableFile */
export async function openService(
  service: string,
  source: ServiceSource | undefined,
  listsSecretNames: boolean,
): Promise<OpenService> {
  if (source === undefined) throw new UnusableFile(`${service} is not a service`);
  const { api, settings } = source;
  const model = await openModel(source.folder, source.model);
  const { operations: given = {}, ...fileSettings } = settings;

  /** The settings of the file win over those that the model suggests. */
  const settingsOf = (name: string): ServiceOperationSettings & { readonly effect: Effect } => {
    const operation = model.operation(name);
    const own = Object.hasOwn(given, name) ? given[name] : undefined;
    const { effect: drafted, givesSecrets } = effectOf(model, operation);
    const effect = own?.effect ?? drafted;
    if (effect === 'read') return { ...(givesSecrets && { secretNames: secretsIn(model, operation) }), ...own, effect };
    // Plans say of each deletion that it cannot be undone.
    const isClear = effect === 'delete' || own?.irreversible !== undefined;
    const consequences = isClear ? {} : { consequences: ['It may not be undone.'] };
    return { ...changeSettings(model, operation, effect), ...consequences, ...own, effect };
  };
  const isRead = (name: string) => {
    try {
      return settingsOf(name).effect === 'read';
    } catch (error) {
      if (error instanceof ModelError) return false;
      throw error;
    }
  };
  const findFollow = lazy(() => followFinder(model, model.names.filter(isRead)));

  const make = (name: string): Operation => {
    const { effect, follow = effect !== 'read' && findFollow()(model.operation(name)) } = settingsOf(name);
    // The read that follows a change also shows what is there before.
    const names = [name, ...(follow === undefined || follow === false ? [] : [follow.read])];
    const { operations, ...parsed } = readSettings({
      ...fileSettings,
      // The name of a service may be longer than that of an API in settings.
      api: 'service',
      operations: Object.fromEntries(names.map((each) => [each, settingsOf(each)])),
    });
    const named = Object.entries(operations).map(
      ([each, settingsOfEach]) => [each, { ...settingsOfEach, name: `${service}:${each}` }] as const,
    );
    const made = makeOperations(
      model,
      { ...parsed, api, operations: Object.fromEntries(named) },
      // These operations are no tools, so no list shows the arguments that this server adds.
      { inputSchema: () => ({}), listsSecretNames, isListed: false },
    );
    const operation = made.operations.find((each) => each.api === name);
    if (operation === undefined) throw new ModelError(made.problems.get(name) ?? 'it cannot be made');
    return operation;
  };

  const kept = new Map<string, Operation>();
  return {
    model,
    anyOperation: () => {
      for (const name of model.names) {
        try {
          return make(name);
        } catch (error) {
          if (!(error instanceof ModelError)) throw error;
        }
      }
      return undefined;
    },
    operation: (name) => {
      const operation = kept.get(name) ?? make(name);
      if (kept.size >= mostKept) kept.clear();
      kept.set(name, operation);
      return operation;
    },
  };
}
