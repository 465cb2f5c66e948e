import { type Api, type Fields, json, jsonError, object, objects } from './http.js';
import { invented } from './invented.js';
import { duplicate, notFound, readInput, restoreRules, unknownOperation } from './rules.js';

const zones = new Map([
  ['jp-east-1', 'east-11'],
  ['jp-east-3', 'east-31'],
  ['jp-west-1', 'west-12'],
  ['jp-west-2', 'jp-west-21'],
]);

/** Backup that the sandbox has from the start. */
export const seededBackupId = 'demobackup0000000000000000000001';

/** What else the DevOps API has from the start. */
export const seededDevops = {
  instanceId: 'demo-server',
  firewallGroupName: 'demo-firewall',
  parameterGroupName: 'demo-parameters',
};

/** The DevOps API: RestoreInstance (reference, sections 2.6, 3 and 4.4). The region is that of the request's signature. */
export function createDevops({
  now,
  secondsToSettle,
  saved = { instances: [instanceRecord(seededDevops, 'jp-east-1', new Date('2026-01-01T00:00:00Z'))] },
}: {
  now: () => Date;
  secondsToSettle: number;
  saved?: unknown;
}): Api {
  /** Records as they were when they were made, with `createdAt`, which is not shown. */
  const instances = [...objects(object(saved).instances)];

  return {
    error: jsonError,
    snapshot: () => ({ instances }),
    handle({ method, path, body, headers }) {
      if (method === 'GET' && path === '/v1/instances')
        return invented(json(200, { instances: instances.map(show) }), 'read');
      if (method !== 'POST' || path !== '/v1/instances:restore') return unknownOperation();
      const { input, refused } = readInput(restoreRules, body);
      const problem = refused ?? conflict(input);
      if (problem !== undefined) return problem;
      const region = /Credential=[^/]+\/\d+\/([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
      const instance = instanceRecord(input, region, now());
      instances.push(instance);
      return invented(json(200, { instance: show(instance) }), 'status', 'versions', 'groups', 'urls');
    },
  };

  function conflict({ backupId, instanceId, firewallGroupName, parameterGroupName }: Fields) {
    if (backupId !== seededBackupId) return notFound('Backup', `There is no backup ${backupId}.`);
    if (![undefined, seededDevops.firewallGroupName].some((known) => known === firewallGroupName))
      return notFound('FirewallGroup', `There is no firewall group ${firewallGroupName}.`);
    if (![undefined, seededDevops.parameterGroupName].some((known) => known === parameterGroupName))
      return notFound('ParameterGroup', `There is no parameter group ${parameterGroupName}.`);
    if (instances.some((instance) => instance.instanceId === instanceId))
      return duplicate('Instance', `A server ${instanceId} exists.`);
    return undefined;
  }

  function show({ createdAt, ...instance }: Fields): Fields {
    if (now().getTime() - Date.parse(String(createdAt)) <= secondsToSettle * 1000) return instance;
    return { ...instance, publicIpAddress: '192.0.2.10', state: 'RUNNING', status: { code: 100, name: 'RUNNING' } };
  }
}

function instanceRecord(input: Fields, region: string, created: Date): Fields {
  const address = `${input.instanceId}.devops.sandbox.invalid`;
  return {
    region,
    availabilityZone: input.availabilityZone ?? zones.get(region) ?? '',
    description: input.description ?? '',
    instanceId: input.instanceId,
    diskSize: input.diskSize ?? 100,
    firewallGroupName: input.firewallGroupName ?? seededDevops.firewallGroupName,
    parameterGroupName: input.parameterGroupName ?? seededDevops.parameterGroupName,
    devrepoUrl: `https://${address}`,
    devrepoVersion: '18.4.1',
    upgradableDevrepoVersions: ['18.5.0'],
    registryUrl: `https://registry.${address}`,
    instanceType: input.instanceType ?? 'e-large',
    publicIpAddress: '',
    networkConfig: object(input.networkConfig),
    objectStorageConfig: object(input.objectStorageConfig),
    to: 'ops@sandbox.invalid',
    state: 'RESTORING',
    status: { code: 200, name: 'RESTORING' },
    createTime: `${created.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    createdAt: created.toISOString(),
  };
}
