import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileFault } from '../util/log.js';
import { type SafeText, say } from '../util/safe-text.js';
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

/** The services of a folder, as `CLOUDOPS_MODELS` names it. */
interface ModelFolder {
  readonly services: ServiceSources;
  readonly problems: readonly SafeText[];
}

/**
 * Finds the models of a folder: `ec2.json`, `ec2.json.gz`, or botocore's `ec2/2016-11-15/service-2.json`, of
 * which the newest date counts. Never rejects.
 */
export async function findModels(folder: string): Promise<ModelFolder> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const found = await Promise.all(
      entries.map(async (entry) => {
        if (entry.isDirectory()) return newestModel(folder, entry.name);
        return isModel.test(entry.name) ? [sourceOf(entry.name.replace(isModel, ''), folder, entry.name)] : [];
      }),
    );
    // Of several dates in file names, the newest counts.
    const services = new Map(found.flat().sort(([, a], [, b]) => (a.model < b.model ? -1 : 1)));
    if (services.size > 0) return { services, problems: [] };
    return problem(say`${folder} has no models, such as ec2.json.`);
  } catch (error) {
    return problem(say`${folder} cannot be read (${fileFault(error)}).`);
  }
}

const problem = (text: SafeText): ModelFolder => ({
  services: new Map(),
  problems: [say`CLOUDOPS_MODELS: ${text}`],
});

/** Files of operations, and other files of botocore, are no models. */
const isModel =
  /(?<!\.operations|paginators-1|waiters-2|examples-1|^endpoints|^partitions|^sdk-default-configuration|^_retry)\.json(?:\.gz)?$/;

type NamedSource = readonly [string, ServiceSource];

async function newestModel(folder: string, service: string): Promise<readonly NamedSource[]> {
  const dates = (await readdir(join(folder, service))).filter((name) => /^\d{4}-\d\d-\d\d$/.test(name)).sort();
  for (const date of dates.reverse()) {
    const path = join(folder, service, date);
    const file = (await readdir(path)).find((name) => /^service-2\.json(?:\.gz)?$/.test(name));
    if (file !== undefined) return [sourceOf(service, folder, join(service, date, file))];
  }
  return [];
}

function sourceOf(fileName: string, folder: string, model: string): NamedSource {
  const name = basename(fileName)
    .replace(/[-.]\d{4}-\d\d-\d\d$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 40);
  return [name, { folder, model, api: apiOf(name), settings: { useHostPrefix: false } }];
}
