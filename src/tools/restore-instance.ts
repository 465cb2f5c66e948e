import * as z from 'zod';
import { quote } from '../util/quote.js';
import { defineOperation } from './define-operation.js';
import { consentArguments } from './schema/consent-arguments.js';
import { defaultZones, devopsInstanceTypes, devopsZones, objectStorageRegions } from './schema/enumerations.js';
import { characters, hyphenated, ipv4Cidr, memo, oneOf, oneOfNumbers, region, text } from './schema/fields.js';
import { devopsState, devopsStatusCode, devopsStatusName, withMeaning } from './schema/meanings.js';
import { like } from './schema/outputs.js';
import { zoneWarnings } from './schema/zones.js';

/** Client libraries of the service ask for these (not in the reference). instanceType is left out: it has a default. */
const expectedByClients = ['diskSize', 'firewallGroupName', 'parameterGroupName'] as const;

const bucketName = () => hyphenated({ min: 3, max: 32 });

/** RestoreInstance (reference, sections 2.6 and 4.4). */
export const restoreInstance = defineOperation({
  name: 'restore_instance',
  api: 'RestoreInstance',
  title: 'Restore a DevOps server from a backup',
  description:
    'Creates a new DevOps server (source hosting with registry) from a backup. The backup and the server it was taken ' +
    'from stay as they are; the new server costs money from its creation. Have ready: the backup ID and a name for the ' +
    'new server. It answers at once with state "RESTORING"; the restore goes on in the cloud.',
  effect: 'create',
  service: 'devops',
  secrets: [],
  defaults: [
    { path: 'instanceType', value: 'e-large' },
    {
      path: 'availabilityZone',
      value: `by region: ${Object.entries(defaultZones)
        .map(([region, zone]) => `${zone} in ${region}`)
        .join(', ')}`,
      inRegion: defaultZones,
    },
  ],
  undocumented: [
    'Which arguments are required: this server requires backupId and instanceId. Client libraries of the service also require instanceType, diskSize, firewallGroupName and parameterGroupName.',
    'Success status code, error codes, limits of rate, and how long it takes.',
    'Transitions between states after the first, and an operation that reads a server.',
  ],

  input: z.strictObject({
    backupId: characters(32, 32, '[a-z0-9]', 'lowercase letters or digits').describe('Backup to restore.'),
    instanceId: hyphenated({ max: 30 }).describe('Name of the new server.'),
    instanceType: oneOf(devopsInstanceTypes).describe('Server type. The cloud uses e-large when absent.').optional(),
    firewallGroupName: hyphenated({ max: 63 }).describe('Firewall group to apply.').optional(),
    parameterGroupName: hyphenated({ max: 63 }).describe('Parameter group to apply.').optional(),
    diskSize: oneOfNumbers([100, 200, 300, 400]).describe('Initial disk capacity in GB.').optional(),
    availabilityZone: oneOf(devopsZones)
      .describe(
        "When absent, the region's: east-11, east-31, west-12 or jp-west-21 in jp-east-1, jp-east-3, jp-west-1, jp-west-2.",
      )
      .optional(),
    description: memo(255).describe('Memo, at most 255 characters.').optional(),
    networkConfig: z
      .strictObject({
        networkId: text().describe('Private LAN, when one is used.').optional(),
        privateAddress: ipv4Cidr().describe('Fixed private IPv4 address in CIDR notation.').optional(),
      })
      .optional(),
    objectStorageConfig: z
      .strictObject({
        account: characters(1, 128, '[A-Za-z0-9]', 'letters or digits')
          .describe('Object storage account that the application uses.')
          .optional(),
        region: oneOf(objectStorageRegions).optional(),
        bucketUseObjects: z
          .strictObject({
            lfs: bucketName().describe('For large-file objects.').optional(),
            packages: bucketName().describe('For the package registry.').optional(),
            containerRegistry: bucketName().describe('For the container registry.').optional(),
          })
          .optional(),
      })
      .optional(),
    region: region()
      .describe('Region to restore in: jp-east-1, jp-east-3, jp-west-1 or jp-west-2; default is the configured one.')
      .optional(),
    ...consentArguments,
  }),

  change: {
    consequences: ({ instanceId, backupId }, region) => [
      `A DevOps server ${quote(instanceId)} is created in ${region} from backup ${quote(backupId)}. It costs money from its creation.`,
      'The backup and the server it was taken from stay as they are.',
    ],
    warnings: (input, region) => [
      ...zoneWarnings(input.availabilityZone, region),
      ...expectedByClients.flatMap((name) =>
        input[name] === undefined
          ? [`${name} is absent. The API does not require it, but client libraries of the service do.`]
          : [],
      ),
      ...(input.networkConfig?.networkId !== undefined && input.networkConfig.privateAddress === undefined
        ? ['networkConfig.networkId is given without privateAddress.']
        : []),
      ...(input.objectStorageConfig?.account !== undefined && input.objectStorageConfig.region === undefined
        ? ['objectStorageConfig.account is given without region.']
        : []),
    ],
  },

  output: z.object({
    instance: z.object({
      region: z.string(),
      availabilityZone: z.string(),
      description: z.string().optional(),
      instanceId: z.string(),
      diskSize: z.int(),
      firewallGroupName: z.string(),
      parameterGroupName: z.string(),
      devrepoUrl: z.string(),
      devrepoVersion: z.string(),
      upgradableDevrepoVersions: z.array(z.string()),
      registryUrl: z.string(),
      instanceType: z.string(),
      publicIpAddress: z.string(),
      networkConfig: z.object({ networkId: z.string().optional(), privateAddress: z.string().optional() }),
      objectStorageConfig: like(
        z.object({
          account: z.string().optional(),
          region: z.string().optional(),
          bucketUseObjects: z
            .object({
              lfs: z.string().optional(),
              packages: z.string().optional(),
              containerRegistry: z.string().optional(),
            })
            .optional(),
        }),
        'account, region, bucketUseObjects',
      ),
      to: z.string(),
      state: z.string(),
      status: z.object({ code: z.int(), name: z.string() }),
      createTime: z.string(),
    }),
  }),

  request: ({ region, ...body }) => ({
    method: 'POST',
    path: '/v1/instances:restore',
    query: {},
    body,
    ...(region !== undefined && { region }),
  }),

  record: (body) => body,

  explain({ instance = {} }) {
    const { instanceId = '', state, status = {} } = instance;
    const code =
      status.code === undefined ? 'not given in the answer' : withMeaning(String(status.code), devopsStatusCode);
    return (
      `The restore of DevOps server ${quote(instanceId)} was accepted. Its state is ${withMeaning(state, devopsState)}, ` +
      `its status ${withMeaning(status.name, devopsStatusName)}, code ${code}. The API documents no operation that reads a server: follow the restore in the console, ` +
      'and do not send it again.'
    );
  },
});
