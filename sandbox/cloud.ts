import * as z from 'zod';
import type { Fields } from './http.js';
import { seededCatalog, seededInstances } from './seeds.js';
import { type State, Table } from './state.js';
import { openStorage, type Storage } from './storage/storage.js';

/** What operations work on. Fields that end in `changedAt` and the like are not shown; see catalog.ts and devops.ts. */
export interface Cloud {
  now(): Date;
  readonly storage: Storage;
  /** Resource groups, by name (reference, section 2.5). */
  readonly groups: Table<Fields>;
  /** Clusters of all groups, by `clusterName` (reference, section 2.4). */
  readonly clusters: Table<Fields>;
  /** DevOps servers, by `instanceId` (reference, section 2.6). */
  readonly instances: Table<Fields>;
  /** Whether a group, cluster or server that changed at a time (ISO 8601) has had the time to be ready. */
  hasSettled(changedAt: unknown): boolean;
  /** Resolves once everything that an answer may tell is on disk. */
  flushed(): Promise<void>;
}

export interface CloudOptions extends Pick<Cloud, 'now'> {
  readonly state: State;
  /** How long groups, clusters and servers take until they are ready. */
  readonly secondsToSettle: number;
}

/** A cloud as its state left it. Throws a `SandboxProblem` if the state cannot be read. */
export function openCloud({ now, state, secondsToSettle }: CloudOptions): Cloud {
  const fields = z.record(z.string(), z.unknown());
  const { groups, clusters } = seededCatalog();
  return {
    now,
    storage: openStorage(state),
    groups: new Table('groups', fields, state, groups),
    clusters: new Table('clusters', fields, state, clusters),
    instances: new Table('instances', fields, state, seededInstances()),
    hasSettled: (changedAt) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    flushed: () => state.flushed(),
  };
}
