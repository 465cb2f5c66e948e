import * as z from 'zod';
import { sentences } from '../util/human.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { defineOperation } from './define-operation.js';
import { json } from './request-body.js';
import { differs, foreignZone, place, withMeaning, zoneWarnings } from './schema/answer-texts.js';
import {
  characters,
  consentArguments,
  group,
  hyphenated,
  ipv4Cidr,
  memo,
  oneOf,
  oneOfNumbers,
  region,
  text,
} from './schema/fields.js';
import { unlisted } from './schema/outputs.js';
import values from './schema/values.json' with { type: 'json' };

const bucketName = () => hyphenated({ min: 3, max: 32 });

/** RestoreInstance (docs/API.md: RestoreInstance). */
export const restoreInstance = defineOperation({
  name: 'restore_instance',
  api: 'RestoreInstance',
  title: 'Restore a DevOps server from a backup',
  description:
    'Creates a new DevOps server (source hosting with a registry) from a backup. It costs money from the moment it is created; the backup ' +
    'and the server it was taken from stay as they are. Have ready: the backup ID and a name for the new server. It answers at ' +
    'once with state "RESTORING", and the restore continues in the cloud. It cannot list servers and backups, or choose a public IP address.',
  effect: 'create',
  service: 'devops',
  method: 'POST',
  answer: 'json',
  example: { backupId: 'demobackup0000000000000000000001', instanceId: 'restored-server', diskSize: 100 },
  defaults: [
    { path: 'instanceType', value: 'e-large' },
    {
      path: 'availabilityZone',
      value: `by region: ${Object.entries(values.defaultZones)
        .map(([region, zone]) => `${zone} in ${region}`)
        .join(', ')}`,
      inRegion: values.defaultZones,
    },
  ],
  unknownDefaults: ['firewallGroupName', 'parameterGroupName'],
  costDrivers: ['diskSize'],
  undocumented: [
    'Which arguments are required: this server requires backupId and instanceId. Client libraries of the cloud also require instanceType, diskSize, firewallGroupName and parameterGroupName.',
    'Success status code, error codes, rate limits, and the duration.',
    'Transitions between states after the first.',
    'The location of each region: the API has only codes.',
  ],
  limitations: [
    'Listing servers and backups, and reading the state of one: use the console.',
    'Choosing a public IP address: the cloud assigns one, and the answer names it.',
    'Object storage in a region other than jp-east-1 and jp-west-2: the API takes no other.',
  ],
  errors: {
    'Client.InvalidParameterDuplicate': {
      agent: 'Tell the user that something with this name exists already, and ask them for another name.',
      person: 'Something with this name exists already: give another name.',
    },
    'Client.InvalidParameterNotFound': {
      agent:
        'Tell the user what does not exist in this region, as the cloud says, and ask them for the right name or region.',
      person: 'The cloud says what does not exist in this region: give the right name or region.',
    },
  },

  input: () =>
    z.strictObject({
      backupId: characters(32, 32, '[a-z0-9]', 'lowercase letters or digits')
        .describe('Backup to restore.')
        .meta({ title: 'backup' }),
      instanceId: hyphenated({ max: 30 })
        .describe('Name of the new server: at most 30 lowercase letters, digits or hyphens.')
        .meta({ title: 'name' }),
      instanceType: oneOf(values.devopsInstanceTypes)
        .describe('Server type; e-large when absent.')
        .meta({ title: 'server type' })
        .optional(),
      firewallGroupName: hyphenated({ max: 63 })
        .describe('Firewall group to apply.')
        .meta({ title: 'firewall group' })
        .optional(),
      parameterGroupName: hyphenated({ max: 63 })
        .describe('Parameter group to apply.')
        .meta({ title: 'parameter group' })
        .optional(),
      diskSize: oneOfNumbers([100, 200, 300, 400]).describe('Disk in GB.').meta({ unit: 'GB' }).optional(),
      availabilityZone: oneOf(values.devopsZones)
        .describe(
          'Default by region: east-11 in jp-east-1, east-31 in jp-east-3, west-12 in jp-west-1, jp-west-21 in jp-west-2.',
        )
        .meta({ title: 'zone' })
        .optional(),
      description: memo(255).describe('Memo.').optional(),
      networkConfig: group('private network', 'Private network.', {
        networkId: text().describe('Private LAN.').meta({ title: 'LAN' }),
        privateAddress: ipv4Cidr().describe('Fixed IPv4 address in CIDR notation.'),
      }).optional(),
      objectStorageConfig: group('object storage', 'Object storage.', {
        account: characters(1, 128, '[A-Za-z0-9]', 'letters or digits').describe('Account of the object storage.'),
        region: oneOf(values.objectStorageRegions).describe('Its region.'),
        bucketUseObjects: group('buckets', 'Its buckets.', {
          lfs: bucketName().describe('For large-file objects.'),
          packages: bucketName().describe('For the package registry.'),
          containerRegistry: bucketName().describe('For the container registry.'),
        }),
      }).optional(),
      region: region()
        .describe('Region: jp-east-1, jp-east-3, jp-west-1 or jp-west-2; the configured one when absent.')
        .optional(),
      ...consentArguments(),
    }),

  change: {
    costsMoney: true,
    continues: true,
    headline: (input, region) => say`${createText(input)} in ${place(region)} from backup ${input.backupId}`,
    shortHeadline: createText,
    accept: ({ instanceId }) => say`Create server ${instanceId}`,
    consequences: () => [
      say`It is charged from the moment it is created.`,
      say`The backup and the server it was taken from stay as they are.`,
    ],
    warnings: (input, region) => zoneWarnings(input.availabilityZone, region),
    notChecked: ['that the backup exists', 'that the name is free'],
    identifies: ['instanceId'],
    named: ['instanceId', 'backupId', 'diskSize', 'instanceType', 'region', 'availabilityZone'],
    verificationHint: ({ instanceId }, region) =>
      say`a DevOps server ${instanceId} in ${place(region)} with state RESTORING, CREATING or RUNNING`,
    contradictions: ({ instance = {} }, { instanceId, availabilityZone, instanceType, diskSize }, region) => [
      ...differs('region', region, instance.region),
      ...differs('zone', availabilityZone, instance.availabilityZone),
      ...foreignZone(availabilityZone === undefined ? instance.availabilityZone : undefined, region),
      ...differs('name', instanceId, instance.instanceId),
      ...differs('type', instanceType, instance.instanceType),
      ...differs('disk size', diskSize, instance.diskSize),
    ],
  },

  output: () =>
    z.object({
      instance: z.object({
        region: z.string(),
        availabilityZone: z.string(),
        description: z.string().optional(),
        instanceId: z.string(),
        diskSize: z.int().meta({ unit: 'GB' }),
        firewallGroupName: unlisted(z.string()),
        parameterGroupName: unlisted(z.string()),
        devrepoUrl: z.string(),
        devrepoVersion: unlisted(z.string()),
        upgradableDevrepoVersions: unlisted(z.array(z.string())),
        registryUrl: z.string(),
        instanceType: z.string(),
        publicIpAddress: z.string(),
        networkConfig: unlisted(z.object({ networkId: z.string(), privateAddress: z.string() }).partial()),
        objectStorageConfig: unlisted(
          z
            .object({
              account: z.string(),
              region: z.string(),
              bucketUseObjects: z
                .object({ lfs: z.string(), packages: z.string(), containerRegistry: z.string() })
                .partial(),
            })
            .partial(),
        ),
        to: unlisted(z.string()),
        state: z.string(),
        status: z.object({ code: z.int(), name: z.string() }),
        createTime: z.string(),
      }),
    }),

  request: ({ region, ...body }) => ({ path: '/v1/instances:restore', body: json(body), region }),

  extract: (body) => body,

  summarize({ instance = {} }, { instanceId }) {
    const { state, status = {} } = instance;
    return join(
      sentences(
        say`The cloud accepted the restore of DevOps server ${instance.instanceId ?? instanceId}: it has started and is not finished.`,
        state !== undefined && say`Its state is ${withMeaning(state, values.devopsState)}.`,
        // The status is usually the same word as the state, and is then not repeated.
        status.name !== undefined &&
          status.name !== state &&
          say`Its status is ${withMeaning(status.name, values.devopsStatusName)}.`,
        // The codes 100 and 200 repeat the state, and 200 looks like an HTTP status.
        status.code !== undefined &&
          ![100, 200].includes(status.code) &&
          say`Its status code is ${withMeaning(String(status.code), values.devopsStatusCode)}.`,
      ),
      ' ',
    );
  },
});

function createText({
  instanceId,
  diskSize,
  instanceType = 'e-large',
}: {
  readonly instanceId: string;
  readonly diskSize?: number | undefined;
  readonly instanceType?: string | undefined;
}): SafeText {
  const disk = diskSize === undefined ? words('') : say`${diskSize} GB, `;
  return say`Create DevOps server ${instanceId} (${disk}${own(instanceType)})`;
}
