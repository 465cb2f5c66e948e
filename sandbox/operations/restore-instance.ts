import { isIP } from 'node:net';
import * as z from 'zod';
import type { Cloud } from '../cloud.js';
import { seededBackupId, seededDevops, showInstance } from '../devops.js';
import { type Fields, jsonAnswer } from '../http.js';
import { defineOperation } from '../operation.js';
import { duplicate, name, notFound, oneOf, serverTypes } from '../rules.js';

const family = (letters: string) => [
  `${letters}-large`,
  ...serverTypes({
    [`${letters}-large`]: '8 16 24 32',
    [`${letters}-extra-large`]: '8 16 24 32 48',
    [`${letters}-double-large`]: '16 24 32 48 64 96',
  }),
];
const listD = ['c-large', 'c-large8', ...family('e'), ...family('h2')];
const zones = ['east-11', 'east-12', 'east-13', 'east-14', 'east-31', 'west-12', 'west-13', 'jp-west-21'];
const { firewallGroupName, parameterGroupName } = seededDevops;

const isCidr = (value: string) => {
  const [, ip = '', bits = ''] = /^(.*)\/(0|[1-9]\d{0,2})$/.exec(value) ?? [];
  return bits !== '' && isIP(ip) !== 0 && Number(bits) <= (isIP(ip) === 4 ? 32 : 128);
};

/** True for a text of at most 255 characters. An emoji, for example, counts as one, although JavaScript stores it as two. */
const isMemo = (text: string) => Array.from(text).length <= 255;

const network = z.strictObject({
  networkId: z.string(),
  privateAddress: z.string().refine(isCidr, 'must be an IP address in CIDR notation'),
});
const bucketUse = z.strictObject({ lfs: name(3, 32), packages: name(3, 32), containerRegistry: name(3, 32) });
const objectStorage = z.strictObject({
  account: z.string().regex(/^[a-z0-9]{1,128}$/i),
  region: z.enum(['jp-east-1', 'jp-west-2']),
  bucketUseObjects: bucketUse.partial(),
});

/** Rules of the request (docs/API.md: RestoreInstance). */
export const restoreRules = z.strictObject({
  backupId: z.string().regex(/^[a-z0-9]{32}$/),
  instanceId: name(1, 30),
  instanceType: oneOf(...listD).default('e-large'),
  firewallGroupName: name(1, 63).default(firewallGroupName),
  parameterGroupName: name(1, 63).default(parameterGroupName),
  diskSize: z.literal([100, 200, 300, 400]).default(100),
  availabilityZone: oneOf(...zones).optional(),
  description: z.string().refine(isMemo, 'must have at most 255 characters').default(''),
  networkConfig: network.partial().default({}),
  objectStorageConfig: objectStorage.partial().default({}),
});

type RestoreInput = z.output<typeof restoreRules>;

/** Restores a server from a backup (docs/API.md: RestoreInstance). The request names its region only in the credential of its signature. */
export const restoreInstance = defineOperation({
  service: 'devops',
  request: 'POST /v1/instances:restore',
  source: 'reference',
  invents: ['status', 'versions', 'groups', 'urls'],
  rules: restoreRules,
  handle({ input, headers }, cloud) {
    checkNames(input, cloud);
    const region = /Credential=[^/]+\/\d+\/([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
    const instance = instanceRecord(input, region, cloud.now());
    cloud.instances.set(input.instanceId, instance);
    return jsonAnswer(200, { instance: showInstance(cloud, instance) });
  },
});

function checkNames(input: RestoreInput, { instances }: Cloud): void {
  if (input.backupId !== seededBackupId) throw notFound('Backup', `There is no backup ${input.backupId}.`);
  if (input.firewallGroupName !== firewallGroupName)
    throw notFound('FirewallGroup', `There is no firewall group ${input.firewallGroupName}.`);
  if (input.parameterGroupName !== parameterGroupName)
    throw notFound('ParameterGroup', `There is no parameter group ${input.parameterGroupName}.`);
  if (instances.has(input.instanceId)) throw duplicate('Instance', `A server ${input.instanceId} exists.`);
}

const usualZones: Readonly<Record<string, string>> = {
  'jp-east-1': 'east-11',
  'jp-east-3': 'east-31',
  'jp-west-1': 'west-12',
  'jp-west-2': 'jp-west-21',
};

/** Creates the record of a restored server (docs/API.md: DevOps server record). It has all fields of the request but the backup. */
export function instanceRecord({ backupId: _, ...settings }: RestoreInput, region: string, created: Date): Fields {
  const address = `${settings.instanceId}.devops.sandbox.invalid`;
  return {
    region,
    ...settings,
    // In a region that is not known, the zone stays empty.
    availabilityZone: settings.availabilityZone ?? usualZones[region] ?? '',
    devrepoUrl: `https://${address}`,
    devrepoVersion: '18.4.1',
    upgradableDevrepoVersions: ['18.5.0'],
    registryUrl: `https://registry.${address}`,
    publicIpAddress: '',
    // The address for alert mails, which no request names.
    to: 'ops@sandbox.invalid',
    state: 'RESTORING',
    status: { code: 200, name: 'RESTORING' },
    createTime: `${created.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    // Only for the sandbox, like `changedAt` in other records. `showInstance` needs this time to tell if the server is ready, and leaves it out.
    createdAt: created.toISOString(),
  };
}
