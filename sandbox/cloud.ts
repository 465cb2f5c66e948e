import * as z from 'zod';
import { seededCatalog, seededInstances } from './seeds.js';
import { type State, Table } from './state.js';
import { openStorage } from './storage/storage.js';

/** How long groups, clusters and servers take until they are ready. */
const secondsToSettle = 20;

/** What operations work on. Fields that end in `changedAt` and the like are not shown; see catalog.ts and devops.ts. */
export type Cloud = ReturnType<typeof openCloud>;

/** A cloud as its state left it. Throws a `SandboxProblem` if the state cannot be read. */
export function openCloud(now: () => Date, state: State) {
  const fields = z.record(z.string(), z.unknown());
  const { groups, clusters } = seededCatalog();
  return {
    now,
    storage: openStorage(state),
    /** Resource groups, by name (reference, section 2.5). */
    groups: new Table('groups', fields, state, groups),
    /** Clusters of all groups, by `clusterKey` (reference, section 2.4). */
    clusters: new Table('clusters', fields, state, clusters),
    /** DevOps servers, by `instanceId` (reference, section 2.6). */
    instances: new Table('instances', fields, state, seededInstances()),
    /** Whether a group, cluster or server that changed at a time (ISO 8601) has had the time to be ready. */
    hasSettled: (changedAt: unknown) => now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000,
    /** Resolves once everything that an answer may tell is on disk. */
    flushed: state.flushed,
  };
}
