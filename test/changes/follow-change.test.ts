import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { say } from '../../src/util/safe-text.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** A change that names a read sends the agent there, and not to the console. */

let server: CapturingServer;
let status = 200;
beforeAll(async () => {
  server = await startServer((_request, response) =>
    response.writeHead(status).end('{"instance":{"instanceId":"wiki","state":"RESTORING"}}'),
  );
});
afterAll(() => server.close());

const getInstance: Operation = {
  ...(listParts as Operation),
  name: 'devops_get_instance',
  api: 'GetInstance',
  service: restoreInstance.service,
  input: () => z.strictObject({ InstanceId: z.string() }),
  summarize: () => say`There it is.`,
};
const follow = {
  read: 'GetInstance',
  arguments: { InstanceId: 'input.instanceId' },
  done: { 'Instance.State': 'RUNNING' },
};
const restore: Operation = { ...(restoreInstance as Operation), follow };
const args = { backupId: 'a'.repeat(32), instanceId: 'wiki' };

/** The failure or the structure of what a call is told. */
const toldBy = (told: object) => Object('failure' in told ? told.failure : Object(told).structured);

async function nextOf(operation: Operation, answered: number, tools?: readonly string[]) {
  status = answered;
  const { call, close } = testCaller(server.origin, {
    operations: [operation, namesake, getInstance],
    policy: { readOnly: false, tools, extensions: ['s3'] },
  });
  const told = await call(operation, { ...args, allowRepeat: true }, { signal: never });
  await close();
  return toldBy(told).next;
}

/** A read of another service, whose API has the same name for it. */
const namesake: Operation = { ...getInstance, name: 'other_get_instance', service: 'storage' };

const namesRead =
  /devops_get_instance with InstanceId "wiki".*Instance\.State is "RUNNING".*"Not found" proves nothing for ten minutes/s;

test.each([
  ['accepted', 200, 'GetInstance', /Tell the user the outcome/],
  ['accepted', 200, 'devops_get_instance', /Tell the user the outcome/],
  ['unknown', 500, 'GetInstance', /^Do not repeat it\. .*Only if it is still not there after that/],
])('the next step after an %s change (status %i) is the read %s', async (_outcome, answered, read, more) => {
  const step = await nextOf({ ...restore, follow: { ...follow, read } }, answered);
  expect(step).toMatchObject({ who: 'agent', action: 'call' });
  expect(String(step.text)).toMatch(namesRead);
  expect(String(step.text)).toMatch(more);
});

test('the step fills lists, and says which values mean a failure', async () => {
  const list = { ...follow, arguments: { InstanceId: ['input.instanceId'], Ids: 'answer.disks[].id' } } as const;
  const failed = { 'Instance.State': ['BROKEN', 'GONE'] };
  const step = await nextOf({ ...restore, follow: { ...list, failed } }, 200);
  // The answer has no disks.
  expect(String(step.text)).toContain('console');
  const { Ids: _, ...listed } = list.arguments;
  const { text: nextText } = await nextOf({ ...restore, follow: { ...list, arguments: listed, failed } }, 200);
  const text = String(nextText);
  expect(text).toContain('devops_get_instance with InstanceId ["wiki"] to see');
  expect(text).toContain('It has failed if Instance.State is "BROKEN" or "GONE".');
});

test.each([
  ['accepted', 200, /It is finished when the thing is not found\./],
  ['unknown', 500, /It is finished when the thing is not found\. Only if it is still there after ten minutes/],
])('after an %s deletion, not finding the thing is the end', async (_outcome, answered, expected) => {
  const gone = { read: 'GetInstance', arguments: follow.arguments, gone: true };
  const { text: nextText } = await nextOf({ ...restore, effect: 'delete', follow: gone }, answered);
  const text = String(nextText);
  expect(text).toMatch(expected);
  expect(text).not.toContain('proves nothing');
});

test('the refusal of a repetition points to the read if the outcome is unknown', async () => {
  status = 500;
  const { call, close } = testCaller(server.origin, { operations: [restore, getInstance] });
  await call(restore, args, { signal: never });
  const { code, next } = toldBy(await call(restore, args, { signal: never }));
  await close();
  expect([code, next.action]).toEqual(['Repeated', 'call']);
  expect(String(next.text)).toMatch(namesRead);
});

test.each<readonly [string, Operation, readonly string[] | undefined]>([
  ['may not use the read', restore, ['restore_instance']],
  [
    'has a read whose argument is not known',
    { ...restore, follow: { ...follow, arguments: { A: 'input.none' } } },
    undefined,
  ],
])('a caller that %s is sent to the console', async (_what, operation, tools) => {
  for (const answered of [200, 500]) {
    const step = await nextOf(operation, answered, tools);
    expect(step).toMatchObject({ who: 'user', action: 'check' });
    expect(String(step.text)).toContain('console');
  }
});

describe('an alteration, whose thing may have had its last state before', () => {
  const alter: Operation = { ...restore, effect: 'alter' };

  test('is finished when the state is there again', async () => {
    const { text } = await nextOf(alter, 200);
    expect(String(text)).toContain('It is finished when Instance.State is again "RUNNING" in its answer.');
  });

  test('is known by the values that it was to set, and not by a state, if its outcome is unknown', async () => {
    const { text } = await nextOf(alter, 500);
    expect(String(text)).toMatch(
      /Call devops_get_instance with InstanceId "wiki" to see .*\. Compare its answer with the values that the change was to set: a state that was there before proves nothing\. Only if they still differ after ten minutes and /s,
    );
    expect(String(text)).not.toContain('Instance.State');
  });
});
