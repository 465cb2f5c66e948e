import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { withoutSecrets } from '../../src/calls/call-secrets.js';
import { makePlan } from '../../src/changes/plan.js';
import { requestDigest, requestKey } from '../../src/changes/stored-call.js';
import { fixedKeys } from '../../src/signing/keys.js';
import { apiProfile } from '../../src/signing/signature-variants.js';
import { type Operation, OperationFault } from '../../src/tools/define-operation.js';
import { operations } from '../../src/tools/index.js';
import { json } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { consentArguments } from '../../src/tools/schema/fields.js';
import { encodeRequest } from '../../src/transport/request.js';
import { leavesOf } from '../../src/util/objects.js';
import { say } from '../../src/util/safe-text.js';
import { never, testCaller, testKeys } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { openPolicy } from '../support/operations.js';
import { requestOf } from '../support/request-of.js';
import { problems, withValue } from '../support/rules.js';
import { runs } from '../support/runs.js';

/** What a plan shows is what arrives: method, path, query and body, whole. */

let server: CapturingServer;
beforeAll(async () => {
  server = await startServer((_request, response) => response.writeHead(200).end('{}'));
});
afterAll(() => server.close());

/** The example of an operation with some of its texts replaced, as far as its rules allow that. */
const argumentsOf = ({ name, example, ...rest }: Operation) => {
  const paths = [...leavesOf(example)].flatMap(([path, value]) =>
    typeof value === 'string' ? [path.replace(/\[(\d+)\]/g, '.$1')] : [],
  );
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
    fc.stringMatching(/^[a-z][a-z0-9-]{0,20}[a-z0-9]$/),
    fc.constantFrom('a b', 'ü/日本', '50%', 'a&b=c', "it's (1)!", '..'),
  );
  const changes = fc.array(fc.tuple(fc.constantFrom(...paths), text), { maxLength: 4 });
  return changes.map((all) =>
    all.reduce<Record<string, unknown>>(
      (args, [path, value]) => {
        const changed = withValue(args, path, value);
        return problems({ name, example, ...rest }, changed).length === 0 ? changed : args;
      },
      { ...example },
    ),
  );
};

const plannedCall = (operation: Operation, input: Record<string, unknown>) => {
  if (operation.change === undefined) throw new Error(`${operation.name} is a read`);
  const { region = 'jp-east-1', ...request } = requestOf(operation, input);
  const { service } = operation;
  const endpoint = {
    origin: server.origin,
    pathPrefix: service === 'storage' ? '' : `/${service}`,
    region,
    service,
    profile: apiProfile,
    account: 'default',
    keys: fixedKeys(testKeys),
  };
  const { accessKeyId: keyId } = testKeys;
  const shownInput = withoutSecrets({ operation, input }, input);
  return {
    operation,
    change: operation.change,
    input,
    shownInput,
    request: encodeRequest(operation.method, request, endpoint),
    shownRequest: encodeRequest(operation.method, requestOf(operation, shownInput), endpoint),
    endpoint,
    keyId,
    regionSource: 'default' as const,
    args: {},
  };
};

const digestOf = (call: ReturnType<typeof plannedCall>) => requestDigest(call, [], Buffer.alloc(32));

/** A change of several sends only its parts, which are changes of another operation. */
const changing = operations
  .filter(({ change, many }) => change !== undefined && many === undefined)
  .map((one) => [one.name, one] as const);

describe.each(changing)('%s', (_name, operation) => {
  test('the plan is the request', async () => {
    const caller = testCaller(server.origin, { maximumAttempts: 1, policy: { ...openPolicy, extensions: ['s3'] } });
    const again = operation.repeatable === true ? {} : { allowRepeat: true };
    await fc.assert(
      fc.asyncProperty(argumentsOf(operation), async (args) => {
        const plan = makePlan(plannedCall(operation, args));
        await caller.call(operation, { ...args, ...again }, { signal: never });
        const sent = server.requests.pop();
        expect(`${sent?.method} ${server.origin}${sent?.url}`).toBe(`${plan.method} ${plan.url}`);
        expect(sent?.body === '' || sent?.body === undefined).toBe(plan.body === undefined);
        const secret = (operation.secrets ?? []).length > 0;
        const isText = typeof plan.body === 'string';
        if (plan.body !== undefined && !secret)
          expect(isText ? sent?.body : JSON.parse(sent?.body ?? '')).toEqual(plan.body);
      }),
      { numRuns: runs(100) },
    );
    await caller.close();
  });

  test('other arguments have another digest and another key', () => {
    fc.assert(
      fc.property(argumentsOf(operation), argumentsOf(operation), (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        const [a, b] = [plannedCall(operation, one), plannedCall(operation, other)];
        expect(digestOf(a) === digestOf(b)).toBe(isSame);
        expect(requestKey(a) === requestKey(b)).toBe(isSame);
      }),
      { numRuns: runs(100) },
    );
  });
});

test.each([
  ['shows its path', '/devops/blobs', () => '/blobs'],
  ['shows no path that holds the secret', '/', (blob: string) => `/blobs/${encodeURIComponent(blob)}`],
])('the plan of a request that cannot be made without the secret %s', async (_what, shownPath, pathWith) => {
  const withBlob: Operation = {
    ...(restoreInstance as Operation),
    input: () => z.strictObject({ blob: z.string(), ...consentArguments() }),
    secrets: ['blob'],
    defaults: [],
    unknownDefaults: [],
    // The fingerprint that stands for the secret is not base64.
    request: ({ blob }) => {
      if (!/^[A-Za-z0-9+/]+=*$/.test(String(blob))) throw new OperationFault('request', 'got no base64');
      return { path: pathWith(String(blob)), body: json({ blob }) };
    },
    change: {
      costsMoney: false,
      continues: false,
      headline: () => say`Store a secret`,
      accept: () => say`Store`,
      consequences: () => [],
      warnings: () => [],
      notChecked: [],
      named: [],
      verificationHint: () => say`the secret`,
    },
  };
  const secret = Buffer.from('MARKER of a secret').toString('base64');
  const { call, confirm, close } = testCaller(server.origin, { confirm: 'plan', operations: [withBlob] });
  const sentBefore = server.requests.length;
  const planned = await call(withBlob, { blob: secret }, { signal: never });
  expect(planned).toMatchObject({ ok: true, text: expect.stringContaining('POST ') });
  expect(planned.text).toContain('This request is not shown, because it holds a secret.');
  expect(planned.text).toContain(`POST ${server.origin}${shownPath}\n`);
  for (const form of [secret, encodeURIComponent(secret)]) expect(JSON.stringify(planned)).not.toContain(form);
  const changeId = planned.ok ? `${planned.structured.changeId}` : '';
  expect(await confirm(changeId, withBlob.name)).toMatchObject({ ok: true });
  await close();
  expect(server.requests.slice(sentBefore).map(({ body }) => body)).toEqual([JSON.stringify({ blob: secret })]);
});
