import * as z from 'zod';
import type { Fields } from './http.js';
import { type Seeds, type State, Table } from './state.js';
import { openStorage, type StorageSeeds } from './storage/storage.js';

/** Seconds until a new or changed group, cluster or server is ready. */
const secondsToSettle = 20;

/** The records of a new sandbox. */
export type CloudSeeds = StorageSeeds & Readonly<Record<'groups' | 'clusters' | 'instances', Seeds<Fields>>>;

/** A stored group, cluster or server. Any fields are accepted, because the operation that stored them has checked them. */
const recordSchema = z.record(z.string(), z.unknown());

/** The records that operations read and change. They have fields that answers leave out, such as `changedAt` (catalog.ts, devops.ts). */
export type Cloud = ReturnType<typeof openCloud>;

/** Loads the records of a sandbox from its state. Throws a `SandboxProblem` if the state has records that cannot be read. */
export function openCloud(now: () => Date, state: State, seeds: CloudSeeds) {
  return {
    now,
    storage: openStorage(state, seeds),
    /** Resource groups by name (docs/API.md: Resource group record). */
    groups: new Table('groups', recordSchema, state, seeds.groups),
    /** Clusters of all groups by `clusterKey` (docs/API.md: Cluster record). */
    clusters: new Table('clusters', recordSchema, state, seeds.clusters),
    /** DevOps servers by `instanceId` (docs/API.md: DevOps server record). */
    instances: new Table('instances', recordSchema, state, seeds.instances),
    /** True if a group, cluster or server is ready, because `secondsToSettle` have passed since `changedAt` (ISO 8601). */
    hasSettled: (changedAt: unknown) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    /** Resolves when all changes are on disk. Answers are sent only after this. */
    flushChanges: state.flushChanges,
  };
}
