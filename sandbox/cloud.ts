import { type Catalog, catalogSnapshot, openCatalog } from './catalog.js';
import type { Devops } from './devops.js';
import { object, objects } from './http.js';
import { seededCatalog, seededInstances } from './seeds.js';
import { openStorage, type Storage, type StorageOptions } from './storage/storage.js';

/** What operations work on. */
export interface Cloud {
  now(): Date;
  /** Of parts that are not the last, in bytes. */
  readonly minimumPartSize: number;
  readonly storage: Storage;
  readonly catalog: Catalog;
  readonly devops: Devops;
  /** Whether a group, cluster or server that changed at a time (ISO 8601) has had the time to be ready. */
  hasSettled(changedAt: unknown): boolean;
  /** Resolves once a change of the catalog or of DevOps is on disk. */
  save(service: 'catalog' | 'devops'): Promise<void>;
  /** Resolves once everything that an answer may tell is on disk. */
  flushed(): Promise<void>;
}

export interface CloudOptions extends StorageOptions, Pick<Cloud, 'minimumPartSize'> {
  readonly secondsToSettle: number;
}

/** A cloud as its state left it. */
export function openCloud({ secondsToSettle, minimumPartSize, ...options }: CloudOptions): Cloud {
  const { state, now } = options;
  const catalog = openCatalog(state.saved('catalog').at(-1) ?? seededCatalog());
  const devops = { instances: [...objects(object(state.saved('devops').at(-1) ?? seededInstances()).instances)] };
  return {
    now,
    minimumPartSize,
    storage: openStorage(options),
    catalog,
    devops,
    hasSettled: (changedAt) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    save: (service) => state.append({ [service]: service === 'catalog' ? catalogSnapshot(catalog) : devops }),
    flushed: () => state.flushed(),
  };
}
