import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../src/tools/define-operation.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { problems } from '../support/rules.js';
import { http, operationsFrom, smallModelJson } from './small-model.js';

/** A read of a model has an argument that picks parts of the whole answer. */

let cloud: CapturingServer;
beforeAll(async () => {
  const Volumes = Array.from({ length: 1000 }, (_, index) => ({
    id: `v-${index}`,
    Note: 'n'.repeat(100),
    Password: 'p',
  }));
  const answer = JSON.stringify({ Volumes, Policy: { Document: 'd' }, Tags: { a: 'b' }, NextToken: 't' });
  cloud = await startServer((_request, response) => response.writeHead(200).end(answer));
});
afterAll(() => cloud.close());

const string = { target: 'smithy.api#String' };
const shapes = {
  'small#Volumes': { type: 'list', member: { target: 'small#Volume' } },
  'small#Volume': {
    type: 'structure',
    members: { VolumeId: { ...string, traits: { 'smithy.api#jsonName': 'id' } }, Note: string, Password: string },
  },
  'small#Policy': { type: 'structure', members: { Document: string } },
  'small#Tags': { type: 'map', key: string, value: string },
};
const output = { Volumes: 'small#Volumes', Policy: 'small#Policy', Tags: 'small#Tags', NextToken: 'String' };

function reads(input: Readonly<Record<string, string>> = {}, effect = 'read'): Operation {
  const json = smallModelJson(
    { ListVolumes: { input: { Room: 'String', ...input }, output, traits: http('POST', '/volumes') } },
    shapes,
  );
  const [operation] = operationsFrom(json, { ListVolumes: { effect } }, { api: 'disks' });
  if (operation === undefined) throw new Error('there is none');
  return operation;
}

const listed = ({ schemas }: Operation) => Object.keys(Object(schemas?.input.properties));

async function answerTo(operation: Operation, args: object) {
  const { call, close } = testCaller('', { cloud: { endpoints: { disks: cloud.origin } } });
  const result = await call(operation, args, { signal: never });
  await close();
  if (!result.ok) throw new Error(result.text);
  return result.structured;
}

test('a read is listed with it, and a change is not', async () => {
  expect(listed(reads())).toEqual(['Room', 'fields']);
  expect(listed(reads({}, 'alter'))).not.toContain('fields');
});

test('it has another name if the API has an argument of its name', async () => {
  const operation = reads({ fields: 'String', outputFields: 'String' });
  expect(listed(operation)).toEqual(['Room', 'fields', 'outputFields_', 'outputFields']);
  const { answer } = await answerTo(operation, { fields: 'x', outputFields: ['Policy'] });
  expect(answer).toEqual({ Policy: { Document: 'd' }, NextToken: 't' });
  expect(cloud.requests.at(-1)?.body).toBe('{"fields":"x"}');
});

test('it picks from the whole answer, and is not sent', async () => {
  const operation = reads();
  const whole = await answerTo(operation, { Room: 'r' });
  expect(whole.leftOut).toEqual([{ path: 'Volumes', entries: expect.any(Number) }]);
  const { answer = {}, leftOut } = await answerTo(operation, { Room: 'r', fields: ['Volumes[].VolumeId'] });
  expect(leftOut).toBeUndefined();
  expect(answer.Volumes).toEqual(Array.from({ length: 1000 }, (_, index) => ({ VolumeId: `v-${index}` })));
  expect(cloud.requests.at(-1)?.body).toBe('{"Room":"r"}');
});

test('it shows no secret, and keeps the token of the next page', async () => {
  const { answer } = await answerTo(reads(), { fields: ['Volumes[0].Password'] });
  expect(answer).toEqual({ Volumes: [{ Password: expect.stringContaining('hidden') }], NextToken: 't' });
});

describe('a path', () => {
  test.each([
    [['Volumes[].VolumeId', 'Volumes[3].Note', 'Policy', 'Policy.Document', 'Tags.any.name']],
    // The name in requests.
    [['Volumes[].id']],
    [['Volumes.VolumeId']],
  ])('of the answer is accepted: %j', async (fields) => {
    expect(problems(reads(), { fields })).toEqual([]);
  });

  test.each<[unknown, string]>([
    [
      ['Volume[].VolumeId'],
      'fields[0]: "Volume[].VolumeId" is not a path: Volume is not in the answer; did you mean Volumes?',
    ],
    [
      ['Policy', 'Volumes[].VolumId'],
      'fields[1]: "Volumes[].VolumId" is not a path: VolumId is not in Volumes of the answer; did you mean VolumeId?',
    ],
    [
      ['Policy.Document.Version'],
      'fields[0]: "Policy.Document.Version" is not a path: Version is not in Document of Policy of the answer',
    ],
    [['[]'], 'fields[0]: "[]" is not a path: [] is not in the answer'],
    [[], 'fields: [] must have 1 entry or more'],
    ['Volumes', 'fields: "Volumes" must be a list'],
  ])('that is not in the answer is refused, with the nearest: %j', async (fields, problem) => {
    expect(problems(reads(), { fields })).toEqual([problem]);
  });
});
