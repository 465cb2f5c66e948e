import { expect, test } from 'vitest';
import { pickFields } from '../../src/calls/answer-budget.js';

const answer = {
  Volumes: [
    { VolumeId: 'v-1', Size: 8, Attachments: [{ InstanceId: 'i-1', Device: 'a' }], Tags: {} },
    { VolumeId: 'v-2', Size: 9, Attachments: [] },
    { Size: 10 },
  ],
  Policy: { Document: '{\n}', Name: 'p', Versions: { v1: { Id: 1 }, v2: { Id: 2 } } },
  Names: ['a', 'b', 'c'],
  NextToken: 't',
};

test.each<[paths: readonly string[], picked: object]>([
  [['Volumes[].VolumeId'], { Volumes: [{ VolumeId: 'v-1' }, { VolumeId: 'v-2' }, {}] }],
  [['Volumes.VolumeId'], { Volumes: [{ VolumeId: 'v-1' }, { VolumeId: 'v-2' }, {}] }],
  [['Volumes[1].VolumeId'], { Volumes: [{ VolumeId: 'v-2' }] }],
  [['Volumes[0]', 'Volumes[2].Size'], { Volumes: [answer.Volumes[0], { Size: 10 }] }],
  [
    ['Volumes[].Attachments[].InstanceId', 'Volumes[].Size'],
    {
      Volumes: [{ Size: 8, Attachments: [{ InstanceId: 'i-1' }] }, { Size: 9, Attachments: [] }, { Size: 10 }],
    },
  ],
  [['Policy.Document', 'NextToken'], { Policy: { Document: '{\n}' }, NextToken: 't' }],
  [['Policy', 'Policy.Name'], { Policy: answer.Policy }],
  [['Policy.Versions.v2.Id'], { Policy: { Versions: { v2: { Id: 2 } } } }],
  [['Names'], { Names: ['a', 'b', 'c'] }],
  [['Names[1]', 'Names[7]'], { Names: ['b'] }],
  [['Absent', 'Policy.Absent', 'Names.Absent', 'NextToken.Absent'], { Policy: {}, Names: [] }],
])('%j are picked', (paths, picked) => {
  expect(pickFields(answer, paths)).toEqual(picked);
});

test('names that every object has pick nothing', () => {
  expect(pickFields(answer, ['constructor', 'Policy.toString', 'Names.length'])).toEqual({ Policy: {}, Names: [] });
});
