import type { Model } from '../../../src/models/model.js';
import { openSearch } from '../../../src/models/search/open-search.js';
import type { FoundOperations, OperationEntry, OperationQuery } from '../../../src/models/search/search-operations.js';
import { member, smallModel } from '../small-model.js';

const required = member('String', { required: {} });
const documented = (documentation: string) => ({ 'smithy.api#documentation': documentation });

/** Two services, whose operations have some names in common. One is documented in Japanese. */
export const smallCloud: Readonly<Record<string, Model>> = {
  compute: smallModel(
    {
      DescribeInstances: { input: { InstanceIds: 'String' }, traits: documented('Describes instances.') },
      StartInstances: { input: { InstanceIds: required }, traits: documented('Starts stopped instances.') },
      StopInstances: { input: { InstanceIds: required }, traits: documented('Stops running instances.') },
      TerminateInstances: { input: { InstanceIds: required }, traits: documented('Shuts instances down for good.') },
      CreateVolume: { input: { Size: required, Zone: required }, traits: documented('Creates a volume.') },
      DeleteVolume: { input: { VolumeId: required } },
      DetachVolume: { input: { VolumeId: required }, traits: documented('Detaches a volume from an instance.') },
      DescribeVolumes: {},
      AttachVolume: { input: { VolumeId: required }, traits: documented('Attaches a volume to an instance.') },
      EnableKinesisStreaming: { traits: documented('Streams records of a table.') },
      CreateSnapshot: { input: { VolumeId: required } },
      CreateSnapshotV1: {
        input: { VolumeId: required },
        traits: { 'smithy.api#deprecated': { message: 'use CreateSnapshot' } },
      },
      DescribeLoadBalancers: {},
    },
    {},
    'awsJson1_0',
  ),
  storage: smallModel(
    {
      GetService: { traits: documented('<p>バケットの一覧を取得します。</p>') },
      PutBucket: { input: { Bucket: required }, traits: documented('<p>バケットを作成します。</p>') },
      NiftyDescribeVolumes: { traits: documented('<p>ディスクを表示します。</p>') },
      GetSecretValue: { input: { SecretId: required } },
      RestoreObject: { input: { Bucket: required, Key: required, Days: required, Tier: required } },
    },
    {},
    'awsJson1_0',
  ),
};

export const servicesOf = (cloud: Readonly<Record<string, Model>>) =>
  Object.entries(cloud).map(([service, model]) => ({
    service,
    fingerprint: '1',
    load: () => Promise.resolve(model),
  }));

const anything = () => true;

/** Returns a function that searches the small cloud. */
export async function smallSearch(): Promise<
  (query: string | OperationQuery, isAllowed?: (entry: OperationEntry) => boolean) => FoundOperations
> {
  const search = await openSearch({ services: servicesOf(smallCloud), version: '1' });
  return (query, isAllowed = anything) =>
    search.search(typeof query === 'string' ? { words: query } : query, isAllowed);
}

/** Returns the names of what was found. */
export const namesIn = (found: FoundOperations): readonly string[] =>
  found.kind === 'nothing' ? [] : found.operations.map(({ entry }) => `${entry.service}:${entry.operation}`);
