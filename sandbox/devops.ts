import type { Cloud } from './cloud.js';
import type { Fields } from './http.js';
import type { RestoreInput } from './operations/restore-instance.js';

/** Backup that the sandbox has from the start. */
export const seededBackupId = 'demobackup0000000000000000000001';

/** What else the DevOps API has from the start. */
export const seededDevops = {
  instanceId: 'demo-server',
  firewallGroupName: 'demo-firewall',
  parameterGroupName: 'demo-parameters',
};

/** A server as it is now. */
export function showInstance(cloud: Cloud, { createdAt, ...instance }: Fields): Fields {
  if (!cloud.hasSettled(createdAt)) return instance;
  return { ...instance, publicIpAddress: '192.0.2.10', state: 'RUNNING', status: { code: 100, name: 'RUNNING' } };
}

const zones: Readonly<Record<string, string>> = {
  'jp-east-1': 'east-11',
  'jp-east-3': 'east-31',
  'jp-west-1': 'west-12',
  'jp-west-2': 'jp-west-21',
};

/** The server that a backup becomes, in its first state. */
export function instanceRecord({ backupId: _, ...input }: RestoreInput, region: string, created: Date): Fields {
  const address = `${input.instanceId}.devops.sandbox.invalid`;
  return {
    region,
    ...input,
    availabilityZone: input.availabilityZone ?? zones[region] ?? '',
    devrepoUrl: `https://${address}`,
    devrepoVersion: '18.4.1',
    upgradableDevrepoVersions: ['18.5.0'],
    registryUrl: `https://registry.${address}`,
    publicIpAddress: '',
    to: 'ops@sandbox.invalid',
    state: 'RESTORING',
    status: { code: 200, name: 'RESTORING' },
    createTime: `${created.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    createdAt: created.toISOString(),
  };
}
