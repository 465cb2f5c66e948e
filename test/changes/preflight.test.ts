import { describe, expect, test } from 'vitest';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { namedAccounts } from '../support/accounts.js';
import { contextOf, type TestContext, testCaller } from '../support/caller.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';

/** A change may have a read that is made before its plan is shown. Where no plan is shown, nobody would see what it finds. */

const args = { ...abortMultipartUpload.example };
const part = { PartNumber: '1', LastModified: '2026-11-20T11:00:00.000Z', ETag: '"e"', Size: '5242880' };
const parts = { ListPartsResult: { Key: args.object, IsTruncated: 'false', Part: part } };

/** A server whose cloud has one upload, and the account of each read that was made. */
function setUp(confirm: 'ask' | 'plan' | 'off') {
  const { openClient, opened, requests } = scriptedClient(async ({ method }) =>
    method === 'GET' ? answeredBy(200, { kind: 'xml', value: parts }) : answeredBy(204, { kind: 'empty' }),
  );
  const accounts = namedAccounts('http://127.0.0.1:1', [
    { name: 'prod', confirm, policy: { readOnly: false, tools: ['abort_multipart_upload', 'list_parts'] } },
    { name: 'staging' },
  ]);
  let time = Date.parse('2026-11-20T12:00:00Z');
  const caller = testCaller('http://127.0.0.1:1', { accounts, openClient, now: () => new Date(time) });
  const run = (given: object, context: TestContext) =>
    caller.carryOut(abortMultipartUpload, { ...args, account: 'prod', ...given }, contextOf(context));
  const reads = () => requests.flatMap(({ method }, index) => (method === 'GET' ? [opened[index]?.[0].account] : []));
  const pass = () => {
    time += 5_000;
  };
  return { ...caller, run, reads, requests, pass };
}

const elicitor = { ask: async () => ({ kind: 'agreed' as const }) };

test.each<[what: string, confirm: 'ask' | 'plan' | 'off', given: object, context: TestContext, isRead: boolean]>([
  ['a plan that the agent confirms', 'plan', {}, {}, true],
  ['a plan that a person is asked about', 'ask', {}, { client: { elicitor } }, true],
  ['a plan that is asked for', 'plan', { planOnly: true }, {}, true],
  ['a plan that is asked for where nobody has to agree', 'off', { planOnly: true }, {}, true],
  [
    'a plan that is asked for by somebody who agreed beforehand',
    'ask',
    { planOnly: true },
    { brought: { kind: 'consent' } },
    true,
  ],
  ['a change where nobody has to agree', 'off', {}, {}, false],
  ['a change of somebody who agreed beforehand', 'ask', {}, { brought: { kind: 'consent' } }, false],
])('%s (confirm: %s)', async (_what, confirm, given, context, isRead) => {
  const { run, reads } = setUp(confirm);
  await run(given, context);
  expect(reads()).toEqual(isRead ? ['prod'] : []);
});

describe('a plan that was shown is not read for again', () => {
  test.each([
    ['if the agent confirms it', {}],
    ['if the person answers its question', { client: { elicitor: { ask: async () => 'later' as const } } }],
    ['if the person clicks on it', { client: { views: true } }],
  ])('%s', async (_how, context) => {
    const { run, pass, changes, reads, requests, store } = setUp('ask');
    const outcome = await run({}, context);
    pass();
    const [{ id = '' } = {}] = await store.waiting({});
    await changes.get(id, contextOf());
    expect(reads()).toEqual(['prod']);
    await decide(outcome, { run, changes, id });
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'DELETE']);
  });

  /** Agrees to a plan in the way that its outcome offers. */
  async function decide(
    outcome: CallOutcome,
    { run, changes, id }: Pick<ReturnType<typeof setUp>, 'run' | 'changes'> & { readonly id: string },
  ): Promise<void> {
    const context = contextOf();
    if (outcome.kind === 'inputRequired') {
      const responseTo = () => ({ kind: 'agreed' }) as const;
      await run(
        {},
        { client: { elicitor }, brought: { kind: 'answer', proof: outcome.state, responseTo, visit: 'cancelled' } },
      );
      return;
    }
    const view = outcome.kind === 'succeeded' ? outcome.view : undefined;
    if (view?.kind !== 'plan') throw new Error('there is no plan');
    if (view.ticket === undefined) {
      await changes.confirm({ id, thing: args.object }, context);
      return;
    }
    const change = await changes.findByProof(view.ticket, context);
    if ('code' in change) throw change;
    await changes.click(change, { decision: 'accept', where: 'view', typedName: args.object }, context);
  }
});

/** Plans a change with a read before it, which the cloud answers with `reply`. */
function planWith(preflight: NonNullable<Operation['preflight']>, reply: ReturnType<typeof answeredBy>) {
  const { openClient } = scriptedClient(async () => reply);
  const operation: Operation = { ...(abortMultipartUpload as Operation), preflight };
  const { call } = testCaller('http://127.0.0.1:1', {
    openClient,
    operations: [operation, listParts as Operation],
    confirm: 'plan',
    policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
  });
  return call(operation, { ...args, planOnly: true });
}

const errorWithCode = answeredBy(404, { kind: 'xml', value: { Error: { Code: 'NoSuchInvoice' } } });
const errorWithoutCode = answeredBy(404, { kind: 'empty' });
const rows = { NoSuch: 'Ask which one is meant.' };

test.each([
  ["the cloud's code", 'NoSuchInvoice', errorWithCode, {}],
  ["the cloud's code, for which the read has advice by its beginning", 'NoSuchInvoice', errorWithCode, rows],
  ['the beginning for which the read has advice', 'NoSuch', errorWithCode, rows],
  ['the status of an error without a code', 'Http404', errorWithoutCode, {}],
  ['the status of an error with a code', 'Http404', errorWithCode, rows],
])('a read ends the call with %s', async (_what, decisive, reply, errors) => {
  const preflight = {
    ...abortMultipartUpload.preflight,
    operation: { ...(listParts as Operation), errors },
    input: () => ({ ...args }),
    decisiveErrors: [decisive],
  };
  const result = await planWith(preflight, reply);
  expect(result).toMatchObject({ ok: false, failure: { mayHaveHappened: false } });
  expect(result.text).toMatch(/^abort_multipart_upload was not sent\./);
});

test.each([
  ['succeeds', 200, /^As of 2.*: .*part/m],
  ['fails', 404, /^What is there now is not known\. list_parts failed: the cloud refused it with HTTP status 404\./m],
])('a read that %s and has neither an alert nor decisive errors is in the plan', async (_how, status, found) => {
  const {
    alert: _,
    decisiveErrors: __,
    ...preflight
  } = { ...abortMultipartUpload.preflight, operation: listParts, input: () => ({ ...args }) };
  const reply = answeredBy(status, status === 200 ? { kind: 'xml', value: parts } : { kind: 'empty' });
  const result = await planWith(preflight, reply);
  expect(result.text).toMatch(found);
});
