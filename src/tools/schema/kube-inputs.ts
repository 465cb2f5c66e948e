import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { join, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';
import {
  clusterName,
  flag,
  group,
  hyphenated,
  ipAddress,
  oneOf,
  oneOfListed,
  oneOfNumbers,
  text,
  wholeNumber,
} from './fields.js';
import values from './values.json' with { type: 'json' };

/**
 * This file has the inputs of clusters. Descriptions are short, because every model reads them. `values.json` has the values of docs/API.md
 * (Instance types, Zones, States).
 */

/** A list of exactly one element, which the API requires for regions and zones. */
export const listOfOne = (title: string) =>
  z
    .array(text())
    .length(1, `must hold exactly one ${title}`)
    .meta({ title, description: `One ${title}.` });

const placement = () => ({
  region: text(32).describe('Region.'),
  availabilityZone: text(32).describe('Zone.').meta({ title: 'zone' }),
});

const volumeSize = () => oneOfNumbers([100]).describe('GB.').meta({ title: 'disk size', unit: 'GB' });

/** Refers to `adminWorkstation`, which shows the allowed values. */
const volume = () => ({
  volumeType: oneOfListed(values.volumeTypes, 'See workstation.').meta({ title: 'disk type' }),
  volumeSize: volumeSize(),
});

/** Schema of the admin workstation in ProvisionKubeResourceGroup (docs/API.md). */
export const adminWorkstation = () =>
  group('admin workstation', 'Admin server.', {
    ...placement(),
    // Stands for the allowed values, most of which `controlPlane.instanceType` shows.
    instanceType: oneOfListed(
      values.workstationInstanceTypes,
      'As controlPlane.instanceType, or h2-medium4/8/16/24, h2-large, h2-large8, h2-extra-large8.',
    ).meta({ title: 'server type' }),
    volumeType: oneOf(values.volumeTypes).describe('Disk.').meta({ title: 'disk type' }),
    volumeSize: volumeSize(),
    keyName: text(255).describe('SSH key.').meta({ title: 'SSH key' }),
    initialAccountingType: oneOf(values.accountingTypes)
      .describe('Billing; default pay-per-use.')
      .meta({ title: 'billing' }),
  });

/** Schema of the admin cluster in ProvisionKubeResourceGroup (docs/API.md). */
export const adminCluster = () =>
  group('admin cluster', 'Admin cluster.', {
    name: clusterName().describe('Unique in the project.'),
    version: text(255).describe("Else the cloud's."),
    keyName: text(255).describe('SSH key.').meta({ title: 'SSH key' }),
    initialAccountingType: oneOfListed(values.accountingTypes, 'See workstation.').meta({ title: 'billing' }),
    kubeServiceMeshConfig: group('service mesh', 'Service mesh.', {
      enabled: flag().describe('On or off.'),
      version: text(255).describe("Else the cloud's."),
    }),
    cloudControllerManagerConfig: group('controller manager', 'Controller manager.', {
      useExternalCloudProvider: flag().describe('On or off.'),
    }),
    controlPlaneLoadBalancer: group('load balancer', 'Load balancer.', {
      type: oneOf(['elastic-load-balancer']).describe('Type.'),
      vip: ipAddress().describe('Needed with a private LAN.'),
      systemIpAddresses: z.array(ipAddress()).describe('Two with a private LAN, else none.'),
    }),
    controlPlane: group('control plane', 'Control plane.', {
      ...placement(),
      instanceType: oneOf(values.nodeInstanceTypes).describe('Server type.').meta({ title: 'server type' }),
      ...volume(),
      // The list of tools continues the description with the allowed numbers.
      nodeCount: oneOfNumbers([1, 3, 5]).describe('Nodes:').meta({ title: 'number of nodes' }),
    }),
    nodePools: z
      .array(
        z
          .strictObject({
            name: hyphenated({ max: 40 }).describe('Name.'),
            ...placement(),
            instanceType: oneOfListed(values.nodeInstanceTypes, 'As controlPlane.instanceType.').meta({
              title: 'server type',
            }),
            ...volume(),
            nodeCount: wholeNumber(0).describe('Nodes.').meta({ title: 'number of nodes' }),
          })
          .partial()
          .meta({ title: 'node pool' }),
      )
      .describe('Worker nodes.'),
  });

/** Warns about a version such as `1.34`, which lacks its third number. */
export const versionWarnings = (version: string | undefined): SafeText[] =>
  version === undefined || /^v?\d+\.\d+\.\d+/.test(version)
    ? []
    : [
        say`Version ${quoted(version, 60)} is not a full one, such as 1.34.2. GetKubeServerConfig of the cloud lists those that are possible.`,
      ];

/** Checks the load balancer fields that depend on a private LAN (docs/API.md: Load balancer). */
export function checkPrivateLan(
  networkConfig: { readonly networkId?: unknown } | undefined,
  loadBalancer: { readonly type?: unknown; readonly vip?: unknown; readonly systemIpAddresses?: unknown } | undefined,
  report: (field: string, message: string) => void,
): void {
  // With a private LAN, an absent load balancer lacks its `vip`.
  const { type, vip, systemIpAddresses } = loadBalancer ?? {};
  if (networkConfig?.networkId === undefined) {
    const problem = 'must be left out without a private LAN: give networkConfig.networkId as well, or leave it out';
    if (systemIpAddresses !== undefined) report('systemIpAddresses', problem);
    return;
  }

  if (vip === undefined) report('vip', 'is required with a private LAN (networkConfig.networkId is given)');
  // The API reference requires the addresses for this type only.
  const problem = 'must be exactly two distinct IP addresses with a private LAN and type elastic-load-balancer';
  if (type === 'elastic-load-balancer' && !areTwoDistinct(systemIpAddresses)) report('systemIpAddresses', problem);
}

/** Takes any value, because conditions are also checked if the list breaks its own rules. */
const areTwoDistinct = (addresses: unknown) =>
  Array.isArray(addresses) && addresses.length === 2 && new Set(addresses.map(canonicalAddress)).size === 2;

/** Spells an IPv6 address as `URL` does. */
const canonicalAddress = (address: unknown) =>
  typeof address === 'string' && isIPv6(address) ? new URL(`http://[${address.split('%')[0]}]`).hostname : address;

export const typeText = (instanceType: string | undefined) =>
  instanceType === undefined ? words('type not given') : own(instanceType);

/** At most 20 node pools in words: `"workers" 2 × h2-large32, 3 × h2-large16`. */
export function poolsText(pools: z.output<ReturnType<typeof adminCluster>>['nodePools'] = []): SafeText {
  if (pools.length === 0) return words('none');
  const texts = pools.slice(0, 20).map(({ name, nodeCount, instanceType }) => {
    const servers = say`${nodeCount ?? words('?')} × ${typeText(instanceType)}`;
    return name === undefined ? servers : say`${quoted(name, 80)} ${servers}`;
  });
  if (pools.length > 20) texts.push(say`and ${pools.length - 20} more`);
  return join(texts, ', ');
}
