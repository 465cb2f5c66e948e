import type { Cloud } from './cloud.js';
import type { Fields } from './http.js';

/** The one backup of the sandbox. */
export const seededBackupId = 'demobackup0000000000000000000001';

/** Other records that the DevOps API needs from the start. */
export const seededDevops = {
  instanceId: 'demo-server',
  firewallGroupName: 'demo-firewall',
  parameterGroupName: 'demo-parameters',
};

/** The record of a server for an answer, with its current state. */
export function showInstance(cloud: Cloud, { createdAt, ...instance }: Fields): Fields {
  if (!cloud.hasSettled(createdAt)) return instance;
  return { ...instance, publicIpAddress: '192.0.2.10', state: 'RUNNING', status: { code: 100, name: 'RUNNING' } };
}
