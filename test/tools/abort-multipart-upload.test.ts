import { describe, expect, test } from 'vitest';
import type { Policy } from '../../src/calls/policy.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { WireRequest } from '../../src/transport/request.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import type { SafeText } from '../../src/util/safe-text.js';
import { type TestContext, testCaller } from '../support/caller.js';
import { problems } from '../support/rules.js';
import { answeredBy, scriptedClient, unanswered } from '../support/scripted-client.js';

const args = { bucket: 'b', object: 'a b/c', uploadId: 'u/1' };
const aborted = answeredBy(204, { kind: 'empty' });
const errorOf = (status: number, code: string) => answeredBy(status, { kind: 'xml', value: { Error: { Code: code } } });
const gone = errorOf(404, 'NoSuchUpload');
const part = { PartNumber: '1', LastModified: '2026-11-20T11:00:00.000Z', ETag: '"e"', Size: '5242880' };
const listed = answeredBy(200, {
  kind: 'xml',
  value: { ListPartsResult: { Key: 'a b/c', IsTruncated: 'false', Part: part } },
});

interface Given {
  readonly replies: readonly FinalReply[];
  readonly policy?: Policy;
  readonly confirm?: 'ask' | 'plan' | 'off';
  /** The clock of this machine. */
  readonly now?: Date;
}

const twoTools: Policy = { readOnly: false, tools: ['abort_multipart_upload', 'list_parts'] };

/** A caller whose requests are answered in turn. */
function setUp({ replies, policy = twoTools, confirm = 'plan', now }: Given) {
  const left = [...replies];
  const { openClient, requests } = scriptedClient(async () => left.shift() ?? unanswered(true));
  const caller = testCaller('http://127.0.0.1:1', {
    openClient,
    policy,
    confirm,
    ...(now !== undefined && { now: () => now }),
  });
  return {
    requests,
    confirm: (changeId: string) => caller.confirm(changeId, args.object),
    call: (given: object = args, more: TestContext = {}) => caller.call(abortMultipartUpload, given, more),
  };
}

const methods = (requests: readonly WireRequest[]) => requests.map(({ method }) => method);

test('bucket, object and uploadId are required', () => {
  expect(problems(abortMultipartUpload, {})).toEqual([
    'bucket: is required',
    'object: is required',
    'uploadId: is required',
  ]);
});

test('it sends a DELETE without content, and an empty answer is its success', async () => {
  const { call, requests } = setUp({ replies: [aborted], confirm: 'off' });
  expect(await call()).toMatchObject({ structured: { outcome: 'accepted', warnings: [] } });
  expect(requests).toEqual([
    {
      method: 'DELETE',
      path: '/b/a%20b/c',
      query: { uploadId: 'u/1' },
      target: '/b/a%20b/c?uploadId=u%2F1',
      headers: {},
    },
  ]);
});

describe('its plan', () => {
  test('has what the upload holds, and when that was read', async () => {
    const { call, requests } = setUp({ replies: [listed] });
    const result = await call();
    expect(result.text).toMatch(/^As of 2\d{3}-.* UTC: .*a b\/c.* 1 part/m);
    expect(methods(requests)).toEqual(['GET']);
  });

  const seconds = 23;
  const now = new Date('2026-11-20T11:00:23.000Z');
  const partAgo = (part: object, since: number) =>
    answeredBy(
      200,
      { kind: 'xml', value: { ListPartsResult: { Key: 'a b/c', IsTruncated: 'false', Part: part } } },
      1,
      { date: new Date(Date.parse('2026-11-20T11:00:00.000Z') + since * 1000).toUTCString() },
    );
  const receiving = 'Still receiving: last part 2026-11-20 11:00:00 UTC.';

  test('says in its second line and in a warning that the upload still receives parts', async () => {
    const { call } = setUp({ replies: [partAgo(part, seconds)], now });
    const result = await call();
    if (!result.ok) throw new Error(result.text);
    expect(result.structured.show?.text.split('\n')[1]).toBe(`${receiving} This cannot be undone.`);
    expect(result.text).toContain(`- ${receiving}\n`);
  });

  test('says so in the second line of the question', async () => {
    const { call } = setUp({ replies: [partAgo(part, seconds)], confirm: 'ask', now });
    const asked: string[] = [];
    const ask = async (question: SafeText) => {
      asked.push(question.text);
      return { kind: 'declined' as const };
    };
    await call(args, { client: { elicitor: { ask } } });
    expect(asked.map((question) => question.split('\n')[1])).toEqual([
      'Still receiving: last part 23 s ago. This cannot be undone.',
    ]);
    expect(asked.join()).not.toMatch(/\d\d:\d\d/);
  });

  test.each([
    ['that has stopped', partAgo(part, 3 * 24 * 3600)],
    ['without parts', partAgo([], seconds)],
    ['with a time that contradicts the clock of this machine', partAgo(part, seconds)],
  ])('says nothing of that for an upload %s', async (_which, reply) => {
    const { call } = setUp({ replies: [reply] });
    expect((await call()).text).not.toContain('Still receiving');
  });

  test.each(['NoSuchUpload', 'NoSuchKey'])(
    'is not made if the cloud answers %s: the call ends before anybody is asked',
    async (code) => {
      const { call, requests } = setUp({ replies: [errorOf(404, code)] });
      const result = await call();
      expect(result).toMatchObject({ ok: false, failure: { code, mayHaveHappened: false, next: { who: 'user' } } });
      expect(result.text).toMatch(/^abort_multipart_upload was not sent\./);
      expect(methods(requests)).toEqual(['GET']);
    },
  );

  test.each([
    ['fails', { replies: [errorOf(403, 'AccessDenied')] }, 'AccessDenied'],
    [
      'is not allowed',
      { replies: [], policy: { readOnly: false, tools: ['abort_multipart_upload'] } },
      'CLOUDOPS_TOOLS',
    ],
  ])('says so if the read %s', async (_what, given, reason) => {
    const { call } = setUp(given);
    const result = await call();
    expect(result).toMatchObject({ structured: { plan: { found: expect.stringContaining(reason) } } });
  });

  test('says that an upload without parts which no list has was probably completed', async () => {
    const noParts = answeredBy(200, {
      kind: 'xml',
      value: { ListPartsResult: { Key: 'a b/c', IsTruncated: 'false' } },
    });
    const noUploads = answeredBy(200, { kind: 'xml', value: { ListMultipartUploadsResult: { IsTruncated: 'false' } } });
    const { call } = setUp({
      replies: [noParts, noUploads],
      policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
    });
    const { text } = await call();
    expect(text).toContain('not listed among the open uploads: it was probably completed or aborted');
    expect(text).not.toContain('is open');
  });

  test('says that more parts may follow if the store does not say that these are all', async () => {
    const list = { Key: 'a b/c', IsTruncated: 'unknown', Part: part };
    const { call } = setUp({ replies: [answeredBy(200, { kind: 'xml', value: { ListPartsResult: list } })] });
    expect((await call()).text).toMatch(/^As of .*may have more parts than were read: the first 1,/m);
  });

  test('is not bound to what was found', async () => {
    const { call, confirm, requests } = setUp({ replies: [listed, aborted] });
    const plan = await call();
    if (!plan.ok) throw new Error(plan.text);
    expect(await confirm(plan.structured.changeId ?? '')).toMatchObject({
      structured: { outcome: 'accepted' },
    });
    expect(methods(requests)).toEqual(['GET', 'DELETE']);
  });
});

describe('it can be repeated', () => {
  test('after a success and after a lost answer, without allowRepeat', async () => {
    const { call, requests } = setUp({ replies: [aborted, unanswered(true), gone], confirm: 'off' });
    expect(await call()).toMatchObject({ ok: true });
    expect(await call()).toMatchObject({
      failure: { mayHaveHappened: true, next: { text: expect.stringContaining('Sending it again does no harm') } },
    });
    expect(await call()).toMatchObject({
      failure: {
        code: 'NoSuchUpload',
        mayHaveHappened: false,
        next: { text: expect.stringContaining('ask the user which it is') },
      },
    });
    expect(requests).toHaveLength(3);
  });
});
