import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFault } from '../util/log.js';
import { own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { ServiceSettings } from './model-settings.js';

/** This file finds the models of services by their names, without reading them. */

/** The model of a service, and the settings of a file of operations for it. */
export interface ServiceSource {
  readonly folder: string;
  /** Path of the model, relative to `folder`. */
  readonly model: string;
  /** Name of the API, which decides the setting of the endpoint. */
  readonly api: string;
  readonly settings: ServiceSettings;
}

/** By the name of the service, such as `ec2`. */
export type ServiceSources = ReadonlyMap<string, ServiceSource>;

export const serviceNamePattern = /^[a-z0-9-]{1,40}$/;

/** The API of a service without a setting. S3 is the built-in API `storage`. */
export const apiOf = (service: string): string => (service === 's3' ? 'storage' : service);

/**
 * Finds the models of a folder: `ec2.json`, `ec2.json.gz`, or botocore's `ec2/2016-11-15/service-2.json`, of
 * which the newest date counts. Never rejects.
 */
export async function findModels(folder: string) {
  const services = new Map<string, ServiceSource>();
  /** Each says which file is ignored, and why. */
  const notes: SafeText[] = [];
  const ignore = (entry: string, reason: SafeText) =>
    void notes.push(say`CLOUDOPS_MODELS: ${quoted(entry, 100)} is ignored, because ${reason}.`);
  try {
    // If names have several dates, the newest counts.
    for (const entry of (await readdir(folder)).sort()) {
      const found = await modelIn(folder, entry).catch((error: unknown) =>
        ignore(entry, say`it cannot be read (${fileFault(error)})`),
      );
      if (found === undefined) continue;
      const name = nameOf(entry);
      const other = services.get(name);
      if (name === '') ignore(entry, words('its name has no letters or digits'));
      else services.set(name, { folder, model: found, api: apiOf(name), settings: { useHostPrefix: false } });
      if (other !== undefined && !(dateInName.test(other.model) && dateInName.test(found)))
        ignore(other.model, say`${quoted(found, 100)} is also the service ${own(name)}`);
    }
    if (services.size > 0) return { services, notes, problems: [] };
    return { services, notes, problems: [say`CLOUDOPS_MODELS: ${folder} has no models, such as ec2.json.`] };
  } catch (error) {
    return { services, notes, problems: [say`CLOUDOPS_MODELS: ${folder} cannot be read (${fileFault(error)}).`] };
  }
}

/** Files of operations, and other files of botocore, are no models. */
const isModel =
  /(?<!\.operations|paginators-1|waiters-2|examples-1|^endpoints|^partitions|^sdk-default-configuration|^_retry)\.json(?:\.gz)?$/;

/** Finds the model in a file or a folder. Undefined if there is none. */
async function modelIn(folder: string, entry: string): Promise<string | undefined> {
  if (!(await stat(join(folder, entry))).isDirectory()) return isModel.test(entry) ? entry : undefined;
  const dates = (await readdir(join(folder, entry))).filter((name) => /^\d{4}-\d\d-\d\d$/.test(name)).sort();
  for (const date of dates.reverse()) {
    const path = join(entry, date);
    const file = (await readdir(join(folder, path))).find((name) => /^service-2\.json(?:\.gz)?$/.test(name));
    if (file !== undefined) return join(path, file);
  }
  return undefined;
}

const dateInName = /[-.]\d{4}-\d\d-\d\d(?=\.|$)/;

const nameOf = (entry: string): string =>
  entry
    .replace(isModel, '')
    .replace(dateInName, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+$/, '')
    .slice(0, 40);
