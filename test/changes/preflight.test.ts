import { expect, test } from 'vitest';
import type { CallContext, Click } from '../../src/calls/context.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { namedAccounts } from '../support/accounts.js';
import { never, testCaller } from '../support/caller.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';

/** A change may have a read that is made before its plan is shown. Where no plan is shown, nobody would see what it finds. */

const args = { ...abortMultipartUpload.example };
const part = { PartNumber: '1', LastModified: '2026-11-20T11:00:00.000Z', ETag: '"e"', Size: '5242880' };
const parts = { ListPartsResult: { Key: args.object, IsTruncated: 'false', Part: part } };

/** The account of each read that is made for a call. */
async function readsOf(given: object, context: Partial<CallContext>, confirm: 'ask' | 'plan' | 'off') {
  const { openClient, opened, requests } = scriptedClient(async ({ method }) =>
    method === 'GET' ? answeredBy(200, { kind: 'xml', value: parts }) : answeredBy(204, { kind: 'empty' }),
  );
  const accounts = namedAccounts('http://127.0.0.1:1', [
    { name: 'prod', confirm, policy: { readOnly: false, tools: ['abort_multipart_upload', 'list_parts'] } },
    { name: 'staging' },
  ]);
  const caller = testCaller('http://127.0.0.1:1', { accounts, openClient });
  const tokens = createConsentTokens(
    () => ['k'.repeat(32)],
    '',
    () => new Date(),
  );
  await caller.carryOut(
    abortMultipartUpload,
    { ...args, account: 'prod', ...given },
    { signal: never, client: 'test', tokens, ...context },
  );
  return requests.flatMap(({ method }, index) => (method === 'GET' ? [opened[index]?.[0].account] : []));
}

const claims: Click['claims'] = { digest: 'd', nonce: 'n', issuedAt: Date.now() };
const elicitor = { ask: async () => ({ kind: 'agreed' as const }) };
const resumedReply = { claims: { ...claims, use: 'question' as const }, read: () => ({ kind: 'agreed' as const }) };

test.each<
  [what: string, confirm: 'ask' | 'plan' | 'off', given: object, context: Partial<CallContext>, isRead: boolean]
>([
  ['a plan that is answered with its planId', 'plan', {}, {}, true],
  ['a plan that a person is asked about', 'ask', {}, { elicitor }, true],
  ['a plan that is asked for', 'plan', { planOnly: true }, {}, true],
  ['a plan that is asked for where nobody has to agree', 'off', { planOnly: true }, {}, true],
  ['a plan that is asked for by somebody who agreed beforehand', 'ask', { planOnly: true }, { agreed: true }, true],
  ['a change where nobody has to agree', 'off', {}, {}, false],
  ['a change of somebody who agreed beforehand', 'ask', {}, { agreed: true }, false],
  ['a planId', 'plan', { planId: 'p' }, {}, false],
  ['an answer that the client brings', 'ask', {}, { elicitor: { ...elicitor, resumedReply } }, false],
  ['a click', 'ask', {}, { click: { decision: 'accept', claims } }, false],
  ['a question of a view, what became of its plan', 'ask', { planOnly: true }, { lookAt: claims }, false],
])('%s (confirm: %s)', async (_what, confirm, given, context, isRead) => {
  expect(await readsOf(given, context, confirm)).toEqual(isRead ? ['prod'] : []);
});

/** Plans a change with a read before it, which the cloud answers with `reply`. */
function planWith(preflight: NonNullable<Operation['preflight']>, reply: ReturnType<typeof answeredBy>) {
  const { openClient } = scriptedClient(async () => reply);
  const { call } = testCaller('http://127.0.0.1:1', {
    openClient,
    confirm: 'plan',
    policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
  });
  const operation: Operation = { ...(abortMultipartUpload as Operation), preflight };
  return call(operation, { ...args, planOnly: true }, { signal: never });
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
  ['succeeds', 200, /^Found at 2.*: .*part/m],
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
