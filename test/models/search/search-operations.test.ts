// cspell:ignore détacher disque serveur anhalten
import { describe, expect, test } from 'vitest';
import { namesIn, smallSearch } from './small-search.js';

const search = smallSearch();
const firstFor = (words: string) => namesIn(search(words))[0];

describe('an exact name comes first, in any spelling', () => {
  test.each([
    ['TerminateInstances', 'compute:TerminateInstances'],
    ['terminate_instances', 'compute:TerminateInstances'],
    ['terminate-instances', 'compute:TerminateInstances'],
    ['aws compute terminate-instances --instance-ids i-1', 'compute:TerminateInstances'],
    ['compute:TerminateInstances', 'compute:TerminateInstances'],
    ['NiftyTerminateInstances', 'compute:TerminateInstances'],
    ['storage:DescribeVolumes', 'storage:NiftyDescribeVolumes'],
    ['restore object', 'storage:RestoreObject'],
    // The names of other clouds.
    ['ListBuckets', 'storage:GetService'],
    ['aws s3api create-bucket --bucket b', 'storage:PutBucket'],
  ])('%s', (words, first) => {
    expect(firstFor(words)).toBe(first);
  });
});

describe('words that people use find the words in names', () => {
  test.each([
    ['which servers are there', 'compute:DescribeInstances'],
    ['turn the machine off', 'compute:StopInstances'],
    ['get rid of the old server', 'compute:TerminateInstances'],
    ['add a disk', 'compute:CreateVolume'],
    ['サーバーを停止する', 'compute:StopInstances'],
    ['バケットの一覧', 'storage:GetService'],
    ['list buckets', 'storage:GetService'],
    ['enable kinesis streaming', 'compute:EnableKinesisStreaming'],
    ['détacher le disque du serveur', 'compute:DetachVolume'],
    ['alle Server anhalten', 'compute:StopInstances'],
  ])('%s', (words, first) => {
    expect(firstFor(words)).toBe(first);
  });
});

test.each(['which volumes do we have', 'which volume is attached to the server', 'volume attached to which instance?'])(
  'a question gets a read first: %s',
  (words) => {
    expect(firstFor(words)).toMatch(/:(?:Nifty)?Describe/);
  },
);

test.each(['volumes', 'take the volume off without deleting it', 'the volume of the server'])(
  'nothing that deletes comes first for %s, which does not ask for it',
  (words) => {
    expect(firstFor(words)).not.toBe('compute:DeleteVolume');
  },
);

test('filters leave out other services, other effects, and what the caller may not use', () => {
  expect(namesIn(search({ words: 'volumes', service: 'storage' }))).toEqual(['storage:NiftyDescribeVolumes']);
  expect(namesIn(search({ words: 'volume', effect: 'delete' }))).toContain('compute:DeleteVolume');
  expect(namesIn(search({ words: 'volume', effect: 'delete' }))).not.toContain('compute:CreateVolume');
  expect(namesIn(search('DeleteVolume', ({ operation }) => operation !== 'DeleteVolume'))).not.toContain(
    'compute:DeleteVolume',
  );
});

test.each([
  ['what is the weather', ['weather']],
  ['start kubernetes', ['kubernetes']],
])('nothing is found for %s, with the words that no operation knows', (words, unknownWords) => {
  expect(search(words)).toEqual({ kind: 'nothing', unknownWords, services: ['compute', 'storage'] });
});

test('nothing is found for a service that is not loaded, although an operation has its name', () => {
  expect(search('create a kinesis stream')).toMatchObject({
    kind: 'nothing',
    unknownWords: expect.arrayContaining(['kinesis']),
  });
});

test('an operation names the other services that have an operation of its name', () => {
  const found = search('DescribeVolumes');
  const shown = found.kind === 'found' ? found.operations.slice(0, 2) : [];
  expect(new Map(shown.map(({ entry, sameNameIn }) => [entry.service, sameNameIn]))).toEqual(
    new Map([
      ['compute', ['storage']],
      ['storage', ['compute']],
    ]),
  );
});

test.each([
  ['StopInstances', 'TerminateInstances'],
  ['TerminateInstances', 'StopInstances'],
  ['DetachVolume', 'DeleteVolume'],
  ['DeleteVolume', 'DetachVolume'],
  ['CreateVolume', undefined],
])('%s names its near opposite, %s', (words, nearOpposite) => {
  const found = search(words);
  expect(found.kind === 'found' && found.operations[0]?.nearOpposite).toBe(nearOpposite);
});
