import * as z from 'zod';
import type { Fields } from './http.js';
import { type Seeds, type State, Table } from './state.js';
import { openStorage, type StorageSeeds } from './storage/storage.js';

/** Time that a group, cluster or server takes until it is ready. */
const secondsToSettle = 20;

/** Records that the cloud has before those of its state. */
export type CloudSeeds = StorageSeeds & Readonly<Record<'groups' | 'clusters' | 'instances', Seeds<Fields>>>;

const fields = z.record(z.string(), z.unknown());

/** All that operations read and change. Fields such as `changedAt` are not shown: see catalog.ts and devops.ts. */
export type Cloud = ReturnType<typeof openCloud>;

/** The cloud that a state holds. Throws a `SandboxProblem` if the state cannot be read. */
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
    /** True once a group, cluster or server that changed at a time (ISO 8601) is ready. */
    hasSettled: (changedAt: unknown) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    /** Resolves once everything that an answer may tell is on disk. */
    flushed: state.flushed,
  };
}
