import { describe, expect, test } from 'vitest';
import { writeScope } from '../../src/calls/policy.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { type Operation, OperationFault } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { json } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import type { Span } from '../../src/util/trace.js';
import { memoryStore, never, type TestCallerOptions, testCaller, testKeys } from '../support/caller.js';
import { answered, answeredBy, scriptedClient, unanswered } from '../support/scripted-client.js';

/** What every call has in common: how its requests are sent, what becomes of a fault, and what the log has of it. */

const parts = { bucket: 'b', object: 'o', uploadId: 'u' };
const restore = { backupId: 'a'.repeat(32), instanceId: 'one' };
const accepted = async () => answered(200, { instance: { instanceId: 'one' } });
const page = async () => answeredBy(200, { kind: 'xml', value: { ListPartsResult: { IsTruncated: 'false' } } });

const span: Span = { child: () => span, end: () => undefined };

function setUp(reply: () => Promise<FinalReply>, options: TestCallerOptions = {}) {
  const client = scriptedClient(reply);
  const { openClient } = client;
  return { ...client, ...testCaller('http://127.0.0.1:1', { openClient, ...options }) };
}

describe('a client for the requests of a call', () => {
  test('of a read may send them twice, follows the caller, and is closed', async () => {
    const { call, opened, requests, closed } = setUp(page);
    expect(await call(listParts, { ...parts, region: 'jp-west-1' }, { signal: never, watch: { span } })).toMatchObject({
      ok: true,
    });
    expect(opened).toMatchObject([
      [
        { region: 'jp-west-1', service: 's3' },
        { repeatable: true, secretArguments: [] },
      ],
    ]);
    expect(opened[0]?.[1].signal).toBe(never);
    expect(opened[0]?.[1].span).toBe(span);
    expect(requests).toMatchObject([{ method: 'GET', path: '/b/o', query: { uploadId: 'u' } }]);
    expect(closed).toEqual([1]);
  });

  test('of a change may not, and is closed', async () => {
    const { call, opened, requests, closed } = setUp(accepted);
    expect(await call(restoreInstance, { ...restore, allowRepeat: true }, { signal: never })).toMatchObject({
      ok: true,
    });
    expect(opened).toMatchObject([[{ region: 'jp-east-1', service: 'devops' }, { repeatable: false }]]);
    const path = '/devops/v1/instances:restore';
    expect(requests).toEqual([
      {
        method: 'POST',
        path,
        query: {},
        target: path,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(restore),
        content: json(restore),
      },
    ]);
    expect(closed).toEqual([1]);
  });

  test.each([
    ['a read', listParts, parts],
    ['a change', restoreInstance, restore],
  ])('is closed if sending breaks: %s', async (_what, operation, args) => {
    const { call, closed } = setUp(() => Promise.reject(new Error('broken')));
    expect(await call(operation, args, { signal: never })).toMatchObject({ ok: false });
    expect(closed).toEqual([1]);
  });

  test('knows the credentials and the secrets of the call, which must not come back in an answer', async () => {
    const credentials = { ...testKeys, sessionToken: 'session-token' };
    const { call, opened } = setUp(accepted, { cloud: { credentials } });
    const serviceAccountKey = '{"private_key":"MARKER"}';
    const args = { resourceGroupName: 'g', externalCloudConfig: { serviceAccountKey } };
    await call(provisionKubeResourceGroup, args, { signal: never });
    expect(opened).toMatchObject([[{}, { secretArguments: [serviceAccountKey] }]]);
    expect(await opened[0]?.[0].keys.current()).toEqual(credentials);
  });
});

describe('a fault of this server', () => {
  const openClient = (error: unknown) => () => {
    throw error;
  };

  test.each([
    ['a read', listParts, parts, undefined],
    ['a change, which was not sent', restoreInstance, restore, false],
  ])('is told and logged without its words: %s', async (_what, operation, args, mayHaveHappened) => {
    const { call, logged } = setUp(accepted, { openClient: openClient(new TypeError('MARKER')) });
    const result = await call(operation, args, { signal: never });
    expect(result).toMatchObject({ ok: false, failure: { code: 'InternalError' } });
    expect('failure' in result && result.failure.mayHaveHappened).toBe(mayHaveHappened);
    expect(logged).toContainEqual({
      level: 'error',
      event: 'unexpected',
      fields: { tool: operation.name, error: 'TypeError' },
    });
    expect(JSON.stringify([result, logged])).not.toContain('MARKER');
  });

  test.each([
    ['a read', listParts, parts, 'failed'],
    ['a change', restoreInstance, restore, 'was not sent'],
  ])('in an operation file is for its author to correct: %s', async (_what, operation, args, result) => {
    const fault = new OperationFault(`${operation.name}: request`, 'threw "MARKER"');
    const { call, logged } = setUp(accepted, { openClient: openClient(new Error('not sent', { cause: fault })) });
    const { text } = await call(operation, args, { signal: never });
    expect(text).toContain(
      `${operation.name} ${result}: the operation file (CLOUDOPS_OPERATIONS) has a mistake in "${operation.name}: request".`,
    );
    expect(text).toMatch(/^next: .*has to correct the operation file; its log says what the function did\.$/m);
    expect(text).not.toMatch(/report|this server made a mistake|MARKER/);
    expect(logged).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ fault: fault.message }) }),
    );
  });

  test('that is no error is logged as such', async () => {
    const { call, logged } = setUp(accepted, { openClient: openClient('MARKER') });
    await call(listParts, parts, { signal: never });
    expect(logged).toContainEqual(expect.objectContaining({ fields: { tool: 'list_parts', error: 'not an error' } }));
  });

  test('after which nobody knows what happened is for the user to look into', async () => {
    const { call } = setUp(() => Promise.reject(new Error('broken')));
    const result = await call(restoreInstance, restore, { signal: never });
    expect(result).toMatchObject({
      failure: { mayHaveHappened: true, next: { who: 'user', text: expect.stringMatching(/^Do not repeat it/) } },
    });
  });
});

test.each([
  ['a success', accepted, 'info', { ok: true, outcome: 'accepted' }],
  [
    'a refusal of the service',
    async () => answered(400, {}),
    'info',
    { ok: false, outcome: 'rejected', code: 'Http400', mayHaveHappened: false },
  ],
  [
    'an unknown outcome',
    async () => unanswered(true),
    'warn',
    { ok: false, outcome: 'unknown', code: 'ConnectionLost', mayHaveHappened: true },
  ],
] as const)('the log has %s, whose call it was, and the change', async (_what, reply, level, fields) => {
  const store = memoryStore();
  const { call, logged } = setUp(reply, { store });
  await call(restoreInstance, restore, { signal: never, principal: { name: 'alice', scopes: [writeScope] } });
  const [{ id, target } = {}] = await store.newest({ limit: 99 });
  expect(target).toMatch(/^POST http:/);
  const named = { tool: 'restore_instance', caller: 'alice', id };
  expect(logged.filter(({ event }) => ['call', 'change'].includes(event))).toEqual([
    { level: 'info', event: 'change', fields: { ...named, target, outcome: fields.outcome } },
    { level, event: 'call', fields: { ...named, ...fields } },
  ]);
});

test('the log tells a plan from its change', async () => {
  const { call, logged } = setUp(accepted, { confirm: 'plan' });
  const planned = await call(restoreInstance, restore, { signal: never });
  const id = planned.ok ? planned.structured.changeId : undefined;
  expect(id).toEqual(expect.any(String));
  expect(logged.filter(({ event }) => event === 'call')).toEqual([
    { level: 'info', event: 'call', fields: { tool: 'restore_instance', ok: true, outcome: 'planned', id } },
  ]);
});

test('the log of a read that fails says that nothing may have happened', async () => {
  const { call, logged } = setUp(async () => answered(404, {}));
  await call(listParts, parts, { signal: never });
  expect(logged.filter(({ event }) => event === 'call')).toMatchObject([
    { level: 'info', fields: { tool: 'list_parts', ok: false, code: 'Http404', mayHaveHappened: false } },
  ]);
});

describe('when the server stops', () => {
  /** A cloud that does not answer reads, and answers changes after the stop. */
  function stopDuringCall(operation: Operation, args: object, confirm: 'ask' | 'off' = 'off') {
    const stopping = new AbortController();
    let opened: ReturnType<typeof setUp>['opened'] = [];
    const caller = setUp(
      async () => {
        stopping.abort();
        const [signal] = opened.map(([, options]) => options.signal);
        if (operation.effect === 'read' || confirm === 'ask')
          await new Promise((done) => signal?.addEventListener('abort', done));
        return signal?.aborted === true ? unanswered(true) : accepted();
      },
      { confirm, policy: { readOnly: false, tools: undefined, extensions: ['s3'] } },
    );
    opened = caller.opened;
    const context = {
      signal: never,
      stop: stopping.signal,
      client: { elicitor: { ask: async () => ({ kind: 'agreed' as const }) } },
    };
    return { ...caller, result: caller.call(operation, args, context) };
  }

  test('a read is given up at once, and its request is cancelled', async () => {
    const { result, opened } = stopDuringCall(listParts, parts);
    expect(await result).toMatchObject({ ok: false, failure: { code: 'Stopping' } });
    expect(opened[0]?.[1].signal.aborted).toBe(true);
  });

  test('a change under way is not given up', async () => {
    const { result } = stopDuringCall(restoreInstance, restore);
    expect(await result).toMatchObject({ ok: true, structured: { outcome: 'accepted' } });
  });

  test('a change is not sent if the read before it was given up', async () => {
    const { result, requests } = stopDuringCall(abortMultipartUpload, abortMultipartUpload.example, 'ask');
    expect(await result).toMatchObject({
      ok: false,
      failure: { code: 'Stopping', problems: [], mayHaveHappened: false },
    });
    expect(requests.map(({ method }) => method)).not.toContain('DELETE');
  });
});
