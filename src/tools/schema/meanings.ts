import { defined, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';

/** A status as the service spells it, with its meaning from the reference, or a note that the reference does not have the status. */
export function withMeaning(value: string | undefined, meanings: Readonly<Record<string, string>>): SafeText {
  if (value === undefined) return words('not given in the answer');
  const meaning = Object.hasOwn(meanings, value) ? meanings[value] : undefined;
  return meaning === undefined
    ? say`${quoted(value, 60)} (not among the documented values)`
    : say`${own(value)} (${defined(meaning)})`;
}

/** Resource groups (docs/API.md: States). Their meanings follow from the names. */
export const resourceGroupStatus = {
  provisioned: 'set up and ready',
  failed: 'the last operation failed',
  'agent-offline': 'the cloud cannot reach the agent in the group',
  unprovisioned: 'nothing is set up in it',
  provisioning: 'being set up',
  configuring: 'being changed',
  deleting: 'being deleted',
};

/** Clusters and nodes (docs/API.md: States). Their meanings follow from the names. */
export const clusterStatus = {
  running: 'in service',
  failed: 'the last operation failed',
  warning: 'in service with a problem',
  provisioning: 'being created',
  configuring: 'being changed, an upgrade included',
  deleting: 'being deleted',
};

/** DevOps servers (docs/API.md: States). `RESTORING` is only in the reference's example of an answer. */
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

/** `status.code` of a DevOps server (docs/API.md: States). */
export const devopsStatusCode = { 100: 'running', 200: 'processing', 300: 'warning', 400: 'error' };

/** `status.name` of a DevOps server (docs/API.md: States; where the reference gives no meaning, the name does). */
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
