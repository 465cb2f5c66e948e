import { hash } from 'node:crypto';
import { clusterKey } from './catalog.js';
import type { CloudSeeds } from './cloud.js';
import { seededBackupId, seededDevops } from './devops.js';
import { clusterRecord, groupRecord, provisionRules } from './operations/provision-kube-resource-group.js';
import { instanceRecord, restoreRules } from './operations/restore-instance.js';
import type { State } from './state.js';
import type { Part, UploadName } from './storage/records.js';

const demoUpload = (key: string, uploadId: string): UploadName => ({ bucket: 'demo-bucket', key, uploadId });

/** An upload in progress. Of its 16 parts, those up to 15 were sent, except for the numbers 5, 11 and 12. */
export const seededUpload = demoUpload('backups/2026/database.dump', 'demo-upload-in-progress');

/** A complete upload with 10,000 parts. */
export const seededLargeUpload = demoUpload('archive/2025.tar', 'demo-upload-of-10000-parts');

/** An upload that has just begun and has no parts. */
export const seededEmptyUpload = demoUpload('video/launch.mov', 'demo-upload-without-parts');

export const seededGroup = {
  resourceGroupName: 'demo-group',
  resourceNamePrefix: 'demo',
  adminCluster: 'demo-admin',
  userCluster: 'demo-user',
  version: '1.33.5-sandbox',
  /** The project of both clusters in the external cloud. */
  project: 'demo-project',
};

/**
 * The records of a new sandbox. The uploads began seconds to hours before the first start; group, clusters and instance are older. The group and its
 * clusters look as if they had been provisioned, and the instance, a server, as if it had been restored from a backup.
 */
export function seedsOf({ origin: { started } }: State): CloudSeeds {
  const uploadSeed = (name: UploadName, secondsAgo: number) =>
    [name.uploadId, { ...name, initiated: earlier(started, secondsAgo), headers: {} }] as const;

  const created = new Date('2026-01-01T00:00:00Z');
  const { resourceGroupName, adminCluster, userCluster } = seededGroup;
  // The group is provisioned together with its admin cluster.
  const group = groupRecord(resourceGroupName, provisionInput(adminCluster), created.toISOString());
  const clusterSeed = (name: string) => {
    const isAdmin = name === adminCluster;
    return [clusterKey(resourceGroupName, name), clusterRecord(provisionInput(name), group, isAdmin)] as const;
  };
  const restoreInput = restoreRules.parse({ ...seededDevops, backupId: seededBackupId });
  const instance = instanceRecord(restoreInput, 'jp-east-1', created);

  return {
    buckets: [[seededUpload.bucket, { created: started }]],
    // By the times in `demoParts`, the first parts of the first two uploads arrived 600 and 23,598 seconds before the first start. So these
    // two began earlier. The third upload has no parts.
    uploads: [uploadSeed(seededUpload, 680), uploadSeed(seededLargeUpload, 23_700), uploadSeed(seededEmptyUpload, 45)],
    partsOf: (uploadId) => demoParts(uploadId, started),
    groups: [[resourceGroupName, group]],
    clusters: [clusterSeed(adminCluster), clusterSeed(userCluster)],
    instances: [[restoreInput.instanceId, instance]],
  };
}

const mebibyte = 1024 * 1024;

const earlier = (time: string, seconds: number) => new Date(Date.parse(time) - seconds * 1000).toISOString();

/** The parts of a demo upload by part number. Empty for any other upload, and for the demo upload without parts. */
function demoParts(uploadId: string, started: string): [string, Part][] {
  const part = (partNumber: number, size: number, secondsAgo: number): [string, Part] => {
    const etag = hash('md5', `part ${partNumber}`);
    return [String(partNumber), { partNumber, size, etag, lastModified: earlier(started, secondsAgo), checksums: {} }];
  };

  if (uploadId === seededUpload.uploadId) {
    // The parts 5, 11 and 12 are missing, so that the upload has gaps. A part arrived every 40 seconds, and part 16 is the next.
    const numbers = [1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 14, 15];
    return numbers.map((number) => part(number, 8 * mebibyte, (16 - number) * 40));
  }
  if (uploadId === seededLargeUpload.uploadId) {
    // A part arrived every 2 seconds. The last, which is smaller, came an hour (3,600 seconds) before the first start.
    const last = 10_000;
    const numbers = Array.from({ length: last }, (_, index) => index + 1);
    return numbers.map((number) => part(number, (number === last ? 3 : 16) * mebibyte, 3_600 + (last - number) * 2));
  }
  return [];
}

/** Builds the request that would provision the demo group with one cluster. */
function provisionInput(clusterName: string) {
  const { resourceNamePrefix, version, project } = seededGroup;
  const place = { region: 'jp-east-1', availabilityZone: 'east-11', volumeType: 'standard-flash-storage-a' };
  const key = { project_id: project, client_email: `demo@${project}.invalid`, client_id: '1' };
  return provisionRules.parse({
    regions: [place.region],
    availabilityZones: [place.availabilityZone],
    resourceNamePrefix,
    externalCloudConfig: { serviceAccountKey: JSON.stringify(key), location: 'asia-northeast1' },
    adminWorkstation: { ...place, instanceType: 'h2-medium4', keyName: 'demo-key' },
    adminCluster: {
      name: clusterName,
      version,
      keyName: 'demo-key',
      controlPlane: { ...place, instanceType: 'h2-large16', nodeCount: 3 },
      nodePools: [{ ...place, name: 'workers', instanceType: 'h2-large32', nodeCount: 2 }],
    },
  });
}
