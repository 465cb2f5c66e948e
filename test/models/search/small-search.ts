import type { Model } from '../../../src/models/model.js';
import { createIndexBuilder, entriesOf } from '../../../src/models/search/operation-index.js';
import { readVocabulary } from '../../../src/models/search/read-vocabulary.js';
import {
  createSearch,
  type FoundOperations,
  type OperationEntry,
  type OperationQuery,
} from '../../../src/models/search/search-operations.js';
import { member, smallModel } from '../small-model.js';

const required = member('String', { required: {} });
const documented = (documentation: string) => ({ 'smithy.api#documentation': documentation });

/** Two services, whose operations have some names in common. One is documented in Japanese. */
const smallCloud: Readonly<Record<string, Model>> = {
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

const anything = () => true;

/** Returns a function that searches the small cloud. */
export function smallSearch(): (
  query: string | OperationQuery,
  isAllowed?: (entry: OperationEntry) => boolean,
) => FoundOperations {
  const vocabulary = readVocabulary();
  const builder = createIndexBuilder();
  for (const [service, model] of Object.entries(smallCloud))
    for (const operation of entriesOf({ service, model }, vocabulary)) builder.add(operation);
  const search = createSearch(builder.index, vocabulary);
  return (query, isAllowed = anything) =>
    search.search(typeof query === 'string' ? { words: query } : query, isAllowed);
}

/** Returns the names of what was found. */
export const namesIn = (found: FoundOperations): readonly string[] =>
  found.kind === 'nothing' ? [] : found.operations.map(({ entry }) => `${entry.service}:${entry.operation}`);
