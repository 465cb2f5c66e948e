import { defined, own, quoted, type SafeText, say } from '../../util/safe-text.js';

/** A status with its meaning: `configuring (being changed)`. */
export function withMeaning(value: string, meanings: Readonly<Record<string, string>>): SafeText {
  const meaning = Object.hasOwn(meanings, value) ? meanings[value] : undefined;
  return meaning === undefined
    ? say`${quoted(value, 60)} (not among the documented values)`
    : say`${own(value)} (${defined(meaning)})`;
}

/** Meanings of a resource group's status (docs/API.md: States), as the names suggest them. */
export const resourceGroupStatus = {
  provisioned: 'set up and ready',
  failed: 'the last operation failed',
  'agent-offline': 'the cloud cannot reach the agent in the group',
  unprovisioned: 'nothing is set up in it',
  provisioning: 'being set up',
  configuring: 'being changed',
  deleting: 'being deleted',
};

/** Meanings of the status of a cluster or node (docs/API.md: States), as the names suggest them. */
export const clusterStatus = {
  running: 'in service',
  failed: 'the last operation failed',
  warning: 'in service with a problem',
  provisioning: 'being created',
  configuring: 'being changed, an upgrade included',
  deleting: 'being deleted',
};

/** Meanings of `state` of a DevOps server (docs/API.md: States). */
export const devopsState = {
  RUNNING: 'running',
  FAILED: 'error',
  CREATING: 'being created',
  DELETEING: 'being deleted; the cloud spells it so',
  PROCESSING: 'being worked on',
  UPGRADING: 'being upgraded',
  'BACKING-UP': 'being backed up',
  RESTORING: 'being created from the backup',
};

/** Meanings of `status.code` of a DevOps server (docs/API.md: States). */
export const devopsStatusCode = { 100: 'running', 200: 'processing', 300: 'warning', 400: 'error' };

/** Meanings of `status.name` of a DevOps server (docs/API.md: States). */
export const devopsStatusName = {
  CREATING: 'being created',
  RESTORING: 'being created from a backup',
  PROCESSING: 'being worked on',
  UPGRADING: 'being upgraded',
  'BACKING-UP': 'being backed up',
  DELETING: 'being deleted',
  RUNNING: 'running',
  FAILED_INSTANCE_CREATE: 'creation failed',
  FAILED_INSTANCE_DELETE: 'deletion failed',
  FAILED_INSTANCE_REBOOT: 'reboot failed',
  FAILED_INSTANCE_BACKUP: 'backup failed',
  FAILED_INSTANCE_UPGRADE: 'upgrade failed',
  FAILED_INSTANCE_OPTOUT: 'deletion error at contract termination',
  FAILED_INSTANCE_EXTENDDISK: 'disk extension failed',
  FAILED_INSTANCE_RESTORE: 'restore failed',
  FAILED_INSTANCE_CONFIGNETWORK: 'network configuration failed',
  FAILED_INSTANCE_SYSTEM: 'check error',
  FAILED_INSTANCE_UPDATEMETA: 'update of metadata failed',
  FAILED_INSTANCE_UPDATESPEC: 'update of the server type failed',
  FAILED_INSTANCE_UPDATEPARAM: 'update of parameters failed',
  FAILED_INSTANCE_INITROOTPASSWORD: 'initialisation of the root password failed',
  WARNING_INSTANCE_CONFIGNETWORK: 'network configuration with a warning',
  FAILED_INSTANCE_SETUPALERT: 'set-up of alerts failed',
  FAILED_INSTANCE_INTERNALERROR: 'unexpected error',
};
