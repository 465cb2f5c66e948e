import type { Cloud } from './cloud.js';
import { type Fields, fieldsIn } from './http.js';
import { notFound } from './rules.js';

export const clusterKey = (group: string, name: string) => `${group}/${name}`;

/** Returns the resource group called `name`. Throws a `ServiceError` if there is none. */
export function findGroup({ groups }: Cloud, name: string): Fields {
  const group = groups.get(name);
  if (group === undefined) throw notFound('ResourceGroupName', `There is no resource group ${name}.`);
  return group;
}

/** The record of a group as answers show it: with its clusters, and `provisioned` once it is ready. */
export function showGroup(cloud: Cloud, { changedAt, ...group }: Fields): Fields {
  const clusters = [...cloud.clusters.values()].filter((cluster) => cluster.group === group.name);
  const adminCluster = clusters.find(({ isAdmin }) => isAdmin === true);
  const userClusters = clusters.filter(({ isAdmin }) => isAdmin === false);
  const kube = {
    ...kubeOf(group),
    adminCluster: adminCluster && showCluster(cloud, adminCluster),
    userClusters: userClusters.map((cluster) => showCluster(cloud, cluster)),
  };
  return {
    ...group,
    configuration: { kube },
    ...(cloud.hasSettled(changedAt) && { status: 'provisioned' }),
  };
}

/** The record of a cluster as answers show it: without internal fields, and `running` once it is ready. */
export function showCluster(cloud: Cloud, stored: Fields): Fields {
  const { changedAt, group: _group, project: _project, isAdmin: _isAdmin, ...cluster } = stored;
  return { ...cluster, ...(cloud.hasSettled(changedAt) && { status: 'running' }) };
}

export const kubeOf = (group: Fields) => fieldsIn(fieldsIn(group.configuration).kube);
