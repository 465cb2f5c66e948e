/** Makes the operations of a whole service, one at a time. */
import type { Operation } from '../tools/define-operation.js';
import { attempt } from '../util/objects.js';
import { openModel, operationMaker } from './from-model.js';
import { draftedEffect } from './guess-effect.js';
import { readableNames } from './model.js';
import { type OperationSettings, operationSettings, UnusableFile } from './model-settings.js';
import { compactName } from './search/words.js';
import type { ServiceSource } from './service-sources.js';

export type OpenService = Awaited<ReturnType<typeof openService>>;

/** @throws UnusableFile */
export async function openService(service: string, source: ServiceSource | undefined, listsSecretNames: boolean) {
  if (source === undefined) throw new UnusableFile(`${service} is not a service`);
  const { api, settings } = source;
  const model = await openModel(source.folder, source.model);
  const { operations: given = {}, ...file } = settings;

  /** The settings of the file win over those that the model suggests. */
  const settingsOf = (name: string): OperationSettings => {
    const operation = model.operation(name);
    const own = Object.hasOwn(given, name) ? given[name] : undefined;
    const effect = own?.effect ?? draftedEffect(model, operation).effect;
    // Plans say so of each deletion.
    const isUnclear = effect !== 'read' && effect !== 'delete' && own?.irreversible === undefined;
    const settingsOfOperation = operationSettings.parse({
      ...(effect === 'delete' && { costsMoney: false }),
      ...(isUnclear && { consequences: ['It may not be undone.'] }),
      ...own,
      effect,
    });
    return { ...settingsOfOperation, name: `${service}:${name}` };
  };
  const operation = operationMaker({
    model,
    file: { ...file, api },
    names: readableNames(model),
    settingsOf,
    rules: { listsSecretNames },
  });
  return {
    model,
    /** Returns the exact name of an operation, of which only case and separators may differ. @throws ModelError if there is none */
    nameOf: (given: string) =>
      model.names.find((name) => compactName(name) === compactName(given)) ?? model.operation(given).name,
    /** Makes one operation of the model. @throws ModelError */
    operation,
    anyOperation: (): Operation | undefined => {
      for (const name of model.names) {
        const made = attempt(() => operation(name), undefined);
        if (made !== undefined) return made;
      }
      return undefined;
    },
  };
}
