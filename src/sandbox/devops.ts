import { type Api, isObject, json, jsonError, parseObject } from './http.js';

const zones: Readonly<Record<string, string>> = {
  'jp-east-1': 'east-11',
  'jp-east-3': 'east-31',
  'jp-west-1': 'west-12',
  'jp-west-2': 'jp-west-21',
};

/** Backup that the sandbox has from the start. */
export const seededBackupId = 'demobackup0000000000000000000001';

/** The DevOps API: RestoreInstance (reference, sections 2.6, 3 and 4.4). `region` is that of the request's signature. */
export function createDevops({ now }: { now: () => Date; secondsToSettle: number; saved?: unknown }): Api {
  const instances = new Set<unknown>(['demo-server']);
  return {
    error: jsonError,
    snapshot: () => ({}),
    handle({ method, path, body, headers }) {
      if (method !== 'POST' || path !== '/v1/instances:restore')
        return jsonError(404, 'Client.URLNotFound', 'The sandbox knows no such operation.');
      const input = parseObject(body);
      if (input === undefined)
        return jsonError(400, 'Client.InvalidParameterIllegalInput.Body', 'The body is not a JSON object.');
      if (input.backupId !== seededBackupId)
        return jsonError(404, 'Client.InvalidParameterNotFound.Backup', 'The backup does not exist.');
      if (instances.has(input.instanceId))
        return jsonError(409, 'Client.InvalidParameterDuplicate.Instance', 'A server with this name exists.');
      instances.add(input.instanceId);

      const region = /Credential=[^/]+\/\d+\/([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
      const address = `${String(input.instanceId)}.devops.sandbox.invalid`;
      return json(200, {
        instance: {
          region,
          availabilityZone: input.availabilityZone ?? zones[region] ?? '',
          description: input.description ?? '',
          instanceId: input.instanceId,
          diskSize: input.diskSize ?? 100,
          firewallGroupName: input.firewallGroupName ?? 'demo-firewall',
          parameterGroupName: input.parameterGroupName ?? 'demo-parameters',
          devrepoUrl: `https://${address}`,
          devrepoVersion: '18.4.1',
          upgradableDevrepoVersions: ['18.5.0'],
          registryUrl: `https://registry.${address}`,
          instanceType: input.instanceType ?? 'e-large',
          publicIpAddress: '',
          networkConfig: isObject(input.networkConfig) ? input.networkConfig : {},
          objectStorageConfig: isObject(input.objectStorageConfig) ? input.objectStorageConfig : {},
          to: 'ops@sandbox.invalid',
          state: 'RESTORING',
          status: { code: 200, name: 'RESTORING' },
          createTime: `${now().toISOString().slice(0, 19).replace('T', ' ')} UTC`,
        },
      });
    },
  };
}
