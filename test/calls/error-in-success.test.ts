import { expect, test } from 'vitest';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { parseBody } from '../../src/transport/parse-body.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';

/** The cloud may answer with status 200, and with `return: false`, which says that the request did not succeed. */

async function outcomeOf(operation: Operation, body: string) {
  const store = memoryStore();
  const { openClient } = scriptedClient(async () => answeredBy(200, parseBody(body)));
  const policy = { ...openPolicy, extensions: ['s3'] };
  const { call, close } = testCaller('http://127.0.0.1:1', { openClient, store, confirm: 'off', policy });
  const told = await call(operation, operation.example, { signal: never });
  const [change] = await store.newest({ limit: 1 });
  await close();
  return { told, state: change?.state };
}

const document = (value: string) => `<AbortResponse><requestId>r</requestId><return>${value}</return></AbortResponse>`;

test.each([
  [abortMultipartUpload, document('false')],
  [abortMultipartUpload, document(' False ')],
  [restoreInstance, document('false')],
  [restoreInstance, '<R><RestoreInstanceResult><Return>false</Return></RestoreInstanceResult></R>'],
  [restoreInstance, '{"return": false, "instance": {"instanceId": "one"}}'],
])('%o: %s is not accepted', async (operation, body) => {
  const { told, state } = await outcomeOf(operation, body);
  expect(state).toBe('unknown');
  expect(told).toMatchObject({
    failure: { code: 'ErrorInAnswer', mayHaveHappened: true, status: 200, serviceSays: { message: 'return: false' } },
    text: expect.stringContaining('has an unknown outcome: the answer says that it failed (HTTP status 200).'),
  });
});

test.each([
  [abortMultipartUpload, document('true')],
  [restoreInstance, '{"return": true, "instance": {"instanceId": "one"}}'],
  [restoreInstance, '{"instance": {"instanceId": "one", "return": false}}'],
])('%o: %s is accepted', async (operation, body) => {
  expect(await outcomeOf(operation, body)).toMatchObject({ state: 'accepted' });
});

test('a read says nothing about success in such a field', async () => {
  const body = '<ListPartsResult><return>false</return><IsTruncated>false</IsTruncated></ListPartsResult>';
  expect(await outcomeOf(listParts, body)).toMatchObject({ told: { ok: true } });
});
