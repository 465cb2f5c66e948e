import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { foundData, foundText } from '../../../src/models/search/found-answer.js';
import { createIndexBuilder, entriesOf } from '../../../src/models/search/operation-index.js';
import { readVocabulary } from '../../../src/models/search/read-vocabulary.js';
import { createSearch } from '../../../src/models/search/search-operations.js';
import { member, smallModel } from '../small-model.js';
import { smallSearch } from './small-search.js';

const search = smallSearch();

test('an entry has everything that an agent needs to choose', () => {
  expect(foundData(search({ words: 'terminate instances', effect: 'delete' })).operations[0]).toEqual({
    operation: 'compute:TerminateInstances',
    summary: 'Shuts instances down for good.',
    effect: 'delete',
    required: ['InstanceIds'],
  });
  expect(foundText(search('terminate instances')).text.split('\n')[0]).toBe(
    'compute:TerminateInstances - "Shuts instances down for good." [change (delete); needs InstanceIds; removes it, StopInstances keeps it]',
  );
  expect(foundText(search('stop instances')).text).toContain('keeps it, TerminateInstances removes it');
});

test.each([
  ['CreateVolume', '[change (create); may cost money; needs Size, Zone]'],
  ['GetSecretValue', '[read; gives out secrets; needs SecretId]'],
  ['RestoreObject', 'needs Bucket, Key, Days, "1 more"]'],
  ['CreateSnapshotV1', '; deprecated: "use CreateSnapshot"]'],
  ['NiftyDescribeVolumes', '; same name in: '],
])('the notes of %s end with %s', (words, notes) => {
  expect(foundText(search(words)).text.split('\n')[0]).toContain(notes);
});

test.each([
  ['GetService', 'Get service.'],
  ['PutBucket', 'Put bucket by bucket.'],
  ['NiftyDescribeVolumes', 'Describe volumes.'],
])('the line of %s is English, although its documentation is Japanese: %s', (words, summary) => {
  const [first] = foundData(search({ words, service: 'storage' })).operations;
  expect(first?.summary).toBe(summary);
});

test.each([
  [
    'This operation is not supported for directory buckets. Returns the lock of a bucket.',
    'Returns the lock of a bucket.',
  ],
  ['Important: this API is in preview. Note that it is not free. Returns the lock.', 'Returns the lock.'],
  ['This action is no longer supported.', 'Get bucket lock by bucket.'],
  ['Deprecated.', 'Get bucket lock by bucket.'],
  ['This action returns the lock.', 'This action returns the lock.'],
])('the line of an operation says what it does: %s', (documentation, summary) => {
  const input = { Bucket: member('String', { required: {} }) };
  const traits = { 'smithy.api#documentation': documentation };
  const model = smallModel({ GetBucketLock: { input, traits } }, {}, 'awsJson1_0');
  const [operation] = [...entriesOf({ service: 's3', model }, readVocabulary())];
  expect(operation?.entry.summary).toBe(summary);
});

test('without a fitting operation, the answer has the unknown words and the services, and no list of others', () => {
  const found = search('what is the weather');
  expect(foundData(found)).toEqual({ operations: [], unknownWords: ['weather'], services: ['compute', 'storage'] });
  expect(foundText(found).text).toBe(
    'No operation knows "weather". Loaded services: compute, storage. Try a verb and a thing, in general cloud terms.',
  );
});

const text = (words: string) => member('String', { required: {}, documentation: words });
const longSentence = `${'Describes and modifies the instances that you launched, for example '.repeat(9)}with a policy.`;
const longNames = Array.from({ length: 12 }, (_, index) => [
  `ModifyInstanceMetadataMaintenanceOptionsOfReservation${index}`,
  {
    input: Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`InstanceMetadataArgument${at}`, text('x')])),
    traits: {
      'smithy.api#documentation': longSentence,
      'smithy.api#deprecated': { message: `This is deprecated. ${longSentence}` },
    },
  },
]);

test('an answer with eight operations of long names and texts has at most 600 tokens', () => {
  const vocabulary = readVocabulary();
  const builder = createIndexBuilder();
  const model = smallModel(Object.fromEntries(longNames), {}, 'awsJson1_0');
  for (const service of ['one-service', 'another-service', 'third-service'])
    for (const operation of entriesOf({ service, model }, vocabulary)) builder.add(operation);
  const found = createSearch(builder.index, vocabulary).search({ words: 'modify instance metadata' }, () => true);
  expect(foundData(found).operations).toHaveLength(8);
  expect(countTokens(JSON.stringify(foundData(found)))).toBeLessThanOrEqual(600);
  expect(countTokens(foundText(found).text)).toBeLessThanOrEqual(600);
});
