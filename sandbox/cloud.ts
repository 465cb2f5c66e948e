import * as z from 'zod';
import type { Fields } from './http.js';
import { type Seeds, type State, Table } from './state.js';
import { openStorage, type StorageSeeds } from './storage/storage.js';

/** Seconds until a new or changed group, cluster or server is ready. */
const secondsToSettle = 20;

/** Records that exist before the first change. */
export type CloudSeeds = StorageSeeds & Readonly<Record<'groups' | 'clusters' | 'instances', Seeds<Fields>>>;

const fields = z.record(z.string(), z.unknown());

/** The records that operations read and change. Answers leave out fields such as `changedAt` (catalog.ts, devops.ts). */
export type Cloud = ReturnType<typeof openCloud>;

/** Opens the cloud of a state. Throws a `SandboxProblem` if the state cannot be read. */
export function openCloud(now: () => Date, state: State, seeds: CloudSeeds) {
  return {
    now,
    storage: openStorage(state, seeds),
    /** Resource groups by name (docs/API.md: Resource group record). */
    groups: new Table('groups', fields, state, seeds.groups),
    /** Clusters of all groups by `clusterKey` (docs/API.md: Cluster record). */
    clusters: new Table('clusters', fields, state, seeds.clusters),
    /** DevOps servers by `instanceId` (docs/API.md: DevOps server record). */
    instances: new Table('instances', fields, state, seeds.instances),
    /** True if a group, cluster or server that changed at `changedAt` (ISO 8601) is ready. */
    hasSettled: (changedAt: unknown) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    /** Resolves when all changes are on disk. An answer waits for this. */
    flushed: state.flushed,
  };
}
