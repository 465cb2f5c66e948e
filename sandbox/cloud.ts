import { type Catalog, catalogSnapshot, openCatalog } from './catalog.js';
import type { Devops } from './devops.js';
import { isObject, object, objects } from './http.js';
import { seededCatalog, seededInstances } from './seeds.js';
import type { State } from './state.js';
import { openStorage, type Storage } from './storage/storage.js';

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

export interface CloudOptions extends Pick<Cloud, 'now' | 'minimumPartSize'> {
  readonly state: State;
  readonly secondsToSettle: number;
  /** When the sandbox started for the first time. */
  readonly started: Date;
  /** The ID of the upload created after so many others. */
  readonly uploadId: (count: number) => string;
}

/** A cloud as its state left it. */
export function openCloud({ state, secondsToSettle, started, uploadId, now, minimumPartSize }: CloudOptions): Cloud {
  const saved = (name: string) =>
    state.records.flatMap((record) => (isObject(record) && name in record ? [record[name]] : []));
  const catalog = openCatalog(saved('catalog').at(-1) ?? seededCatalog());
  const devops = { instances: [...objects(object(saved('devops').at(-1) ?? seededInstances()).instances)] };
  return {
    now,
    minimumPartSize,
    storage: openStorage({ now, started, uploadId, state, saved: saved('storage') }),
    catalog,
    devops,
    hasSettled: (changedAt) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    save: (service) => state.append({ [service]: service === 'catalog' ? catalogSnapshot(catalog) : devops }),
    flushed: () => state.flushed(),
  };
}
