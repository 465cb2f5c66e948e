import { createHash } from 'node:crypto';
import { clusterRecord, groupRecord } from './catalog.js';
import { instanceRecord, seededBackupId, seededDevops } from './devops.js';
import { provisionRules } from './operations/provision-kube-resource-group.js';
import { restoreRules } from './operations/restore-instance.js';
import type { Part, Upload, UploadName } from './storage/contents.js';

/** What is there from the start. */

/** In progress: 15 parts of 16, of which three are missing. */
export const seededUpload: UploadName = {
  bucket: 'demo-bucket',
  key: 'backups/2026/database.dump',
  uploadId: 'demo-upload-in-progress',
};

/** Complete but for the last word: 10,000 parts. */
export const seededLargeUpload: UploadName = {
  bucket: 'demo-bucket',
  key: 'archive/2025.tar',
  uploadId: 'demo-upload-of-10000-parts',
};

/** Just begun: no parts. */
export const seededEmptyUpload: UploadName = {
  bucket: 'demo-bucket',
  key: 'video/launch.mov',
  uploadId: 'demo-upload-without-parts',
};

export const seededGroup = {
  resourceGroupName: 'demo-group',
  resourceNamePrefix: 'demo',
  adminCluster: 'demo-admin',
  userCluster: 'demo-user',
  version: '1.33.5-sandbox',
  /** The external cloud project in which both clusters' names are taken. */
  project: 'demo-project',
};

const mebibyte = 1024 * 1024;

/** These uploads, as of the time the sandbox started for the first time. */
export function seededUploads(started: Date): Upload[] {
  const before = (seconds: number) => new Date(started.getTime() - seconds * 1000).toISOString();
  const part = (partNumber: number, size: number, secondsAgo: number): Part => ({
    partNumber,
    size,
    etag: createHash('md5').update(`part ${partNumber}`).digest('hex'),
    lastModified: before(secondsAgo),
  });
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  const upload = (name: UploadName, secondsAgo: number, parts: () => Part[]): Upload => ({
    ...name,
    initiated: before(secondsAgo),
    headers: {},
    parts: once(parts),
  });
  const missing = [5, 11, 12];
  return [
    upload(seededUpload, 680, () =>
      numbers(15)
        .filter((number) => !missing.includes(number))
        .map((number) => part(number, 8 * mebibyte, (16 - number) * 40)),
    ),
    upload(seededLargeUpload, 23_700, () =>
      numbers(10_000).map((number) => part(number, (number === 10_000 ? 3 : 16) * mebibyte, 23_600 - number * 2)),
    ),
    upload(seededEmptyUpload, 45, () => []),
  ];
}

/** The parts by number, made when they are first asked for. */
export function once(make: () => readonly Part[]): Upload['parts'] {
  let parts: Map<number, Part> | undefined;
  return () => {
    parts ??= new Map(make().map((part) => [part.partNumber, part]));
    return parts;
  };
}

/** A group with two clusters. */
export function seededCatalog() {
  const { resourceGroupName, resourceNamePrefix, adminCluster, userCluster, version, project } = seededGroup;
  const place = { region: 'jp-east-1', availabilityZone: 'east-11', volumeType: 'standard-flash-storage-a' };
  const key = { project_id: project, client_email: `demo@${project}.invalid`, client_id: '1' };
  const input = (name: string) =>
    provisionRules.parse({
      regions: [place.region],
      availabilityZones: [place.availabilityZone],
      resourceNamePrefix,
      externalCloudConfig: { serviceAccountKey: JSON.stringify(key), location: 'asia-northeast1' },
      adminWorkstation: { ...place, instanceType: 'h2-medium4', keyName: 'demo-key' },
      adminCluster: {
        ...{ name, version, keyName: 'demo-key' },
        controlPlane: { ...place, instanceType: 'h2-large16', nodeCount: 3 },
        nodePools: [{ ...place, name: 'workers', instanceType: 'h2-large32', nodeCount: 2 }],
      },
    });
  const group = groupRecord(resourceGroupName, input(adminCluster), '2026-01-01T00:00:00.000Z');
  const clusters = [clusterRecord(input(adminCluster), group, true), clusterRecord(input(userCluster), group, false)];
  return { groups: [group], clusters };
}

/** One server. */
export function seededInstances() {
  const input = restoreRules.parse({ ...seededDevops, backupId: seededBackupId });
  return { instances: [instanceRecord(input, 'jp-east-1', new Date('2026-01-01T00:00:00Z'))] };
}
