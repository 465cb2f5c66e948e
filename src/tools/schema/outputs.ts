import * as z from 'zod';

/** This file has schemas of the records in answers (docs/API.md: Records). Listed values are plain text, because APIs also answer with others. */

const text = () => z.string();
const number = () => z.int();

/** Shows a description in the list of tools in place of the object's fields. */
export const shownAs = <Schema extends z.ZodObject>(schema: Schema, description: string): Schema =>
  schema.meta({ shownAs: description });

/** Leaves a field out of the list of tools. Answers still have the field. */
export const unlisted = <Schema extends z.ZodType>(schema: Schema): Schema => schema.meta({ unlisted: true });

const placement = () => ({ region: text(), availabilityZone: text() });

/** The server of a node or workstation (docs/API.md: Server record). */
const instance = () =>
  z.object({
    ...placement(),
    instanceId: text(),
    instanceUniqueId: text(),
    instanceType: text(),
    securityGroupName: text(),
    networkInterfaces: z.array(z.object({ networkId: text(), ipAddress: text() })),
    volumes: z.array(
      z.object({ ...placement(), volumeId: text(), volumeUniqueId: text(), type: text(), size: number() }),
    ),
  });

const nodes = () =>
  z.object({
    name: text(),
    ...placement(),
    instanceType: text(),
    volumeType: text(),
    volumeSize: number().meta({ unit: 'GB' }),
    nodeCount: number(),
    instances: z.array(shownAs(instance(), 'servers: instanceId, instanceType, networkInterfaces, volumes')),
  });

/** Cluster (docs/API.md: Cluster record). */
export const cluster = () =>
  z.object({
    name: text(),
    version: text(),
    keyName: text(),
    initialAccountingType: text(),
    kubeServiceMeshConfig: z.object({ enabled: z.boolean(), version: text().optional() }).optional(),
    cloudControllerManagerConfig: z.object({ useExternalCloudProvider: z.boolean() }).optional(),
    controlPlaneLoadBalancer: shownAs(
      z.object({
        type: text().optional(),
        vip: text().optional(),
        systemIpAddresses: z.array(text()).optional(),
        elasticLoadBalancer: z
          .object({
            ...placement(),
            id: text(),
            name: text(),
            dnsName: text(),
            networkInterfaces: z.array(
              z.object({
                networkId: text(),
                ipAddress: text(),
                isVipNetwork: z.boolean(),
                systemIpAddresses: z.array(text()).optional(),
              }),
            ),
          })
          .optional(),
      }),
      'type, vip, systemIpAddresses, elasticLoadBalancer',
    ).optional(),
    controlPlane: shownAs(
      nodes(),
      'name, region, availabilityZone, instanceType, volumeType, volumeSize, nodeCount, instances',
    ),
    nodePools: z.array(shownAs(nodes(), 'like controlPlane')),
    status: text(),
  });

/** Resource group (docs/API.md: Resource group record). */
export const resourceGroup = () =>
  z.object({
    name: text(),
    description: text().optional(),
    template: text(),
    configuration: shownAs(
      z.object({
        kube: z.object({
          regions: z.array(text()),
          availabilityZones: z.array(text()),
          resourceNamePrefix: text(),
          deploymentModel: text(),
          networkConfig: z.object({ networkId: text().optional() }).optional(),
          externalCloudConfig: z.object({
            serviceAccount: z.object({ projectId: text(), clientEmail: text(), clientId: text() }),
            location: text(),
          }),
          adminWorkstation: z.object({
            ...placement(),
            instanceType: text(),
            volumeType: text(),
            volumeSize: number().meta({ unit: 'GB' }),
            keyName: text(),
            initialAccountingType: text(),
            instance: instance().optional(),
          }),
          adminCluster: cluster(),
          userClusters: z.array(cluster()),
        }),
      }),
      'kube: what was asked for, with adminCluster and userClusters like the answer of upgrade_kube_version',
    ),
    status: text(),
    createTime: text(),
  });
