import type { Cloud } from './cloud.js';
import type { Fields } from './http.js';

/** The only backup in a sandbox. */
export const seededBackupId = 'demobackup0000000000000000000001';

/** The names that exist in the DevOps API of every new sandbox. */
export const seededDevops = {
  instanceId: 'demo-server',
  firewallGroupName: 'demo-firewall',
  parameterGroupName: 'demo-parameters',
};

/** The record of a server as answers show it: with a public address, and `RUNNING` once it is ready. */
export function showInstance(cloud: Cloud, { createdAt, ...instance }: Fields): Fields {
  if (!cloud.hasSettled(createdAt)) return instance;
  return { ...instance, publicIpAddress: '192.0.2.10', state: 'RUNNING', status: { code: 100, name: 'RUNNING' } };
}
