import * as z from 'zod';
import { clusterKey, findGroup, showCluster } from '../catalog.js';
import { jsonAnswer } from '../http.js';
import { defineOperation } from '../operation.js';
import { notFound, refuse } from '../rules.js';

/** Changes the version of a cluster (docs/API.md: UpgradeKubeVersion). Refused while an earlier change of the cluster is running. */
export const upgradeKubeVersion = defineOperation({
  service: 'catalog',
  request: 'POST /v1/resource-groups/{resourceGroupName}/kube/clusters/{clusterName}:upgrade',
  source: 'reference',
  invents: ['status', 'versions', 'servers', 'balancer'],
  rules: z.strictObject({ version: z.string() }),
  handle({ parameters: { resourceGroupName, clusterName }, input: { version } }, cloud) {
    findGroup(cloud, resourceGroupName);
    const key = clusterKey(resourceGroupName, clusterName);
    const cluster = cloud.clusters.get(key);
    if (cluster === undefined) throw notFound('ClusterName', `${resourceGroupName} has no cluster ${clusterName}.`);
    if (!cloud.hasSettled(cluster.changedAt))
      throw refuse(409, 'ResourceIncorrectState.Cluster', `${clusterName} is ${cluster.status}: wait until it runs.`);
    const changed = { ...cluster, version, status: 'configuring', changedAt: cloud.now().toISOString() };
    cloud.clusters.set(key, changed);
    return jsonAnswer(200, showCluster(cloud, changed));
  },
});
