import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { startSandbox } from '../../sandbox/sandbox.js';
import type { Change } from '../../src/changes/change.js';
import { abortMultipartUploads } from '../../src/tools/abort-multipart-uploads.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { memoryStore, type TestCallerOptions, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';
import { problems } from '../support/rules.js';

/** abort_multipart_uploads: many uploads by one decision, each with its own ending. */

const now = new Date('2026-11-29T12:00:00Z');
const daysAgo = (days: number) => new Date(now.getTime() - days * 24 * 3600_000).toISOString();
const policy = { ...openPolicy, readOnly: false, extensions: ['s3'] };

interface Situation extends TestCallerOptions {
  readonly fault?: string;
}

/** A cloud with `count` uploads in two buckets: `u0` of now, `u1` a day old, and so on. */
async function cloudWith(count: number, { fault, ...options }: Situation = {}) {
  const sandbox = await startSandbox({ now: () => now, fault });
  const { storage, cloud } = sandbox;
  storage.buckets.clear();
  storage.uploads.clear();
  const add = (index: number, initiated = daysAgo(index)) => {
    const uploadId = `u${index}`;
    const bucket = index % 2 === 0 ? 'alpha' : 'beta';
    storage.buckets.set(bucket, { created: daysAgo(99) });
    storage.uploads.set(uploadId, { bucket, key: `k/${index}`, uploadId, initiated, headers: {} });
  };
  for (let index = 0; index < count; index += 1) add(index);
  const caller = testCaller('', { cloud, now: () => now, policy, confirm: 'plan', maximumAttempts: 1, ...options });
  onTestFinished(async () => {
    await caller.close();
    await sandbox.close();
  });
  const plan = async (args: object, hasView = false) => {
    const result = await caller.call(abortMultipartUploads, args, { client: { views: hasView } });
    return { result, text: result.text, changeId: (result.ok && result.structured.changeId) || 'none' };
  };
  const journal = async () => {
    const lines: string[] = [];
    for await (const { tool, state, ending, what } of caller.store.read({}))
      lines.push(`${tool} ${/"(u\d+)"/.exec(what)?.[1] ?? ''} ${state} ${ending?.code ?? ''}`.trim());
    return lines;
  };
  return { ...caller, storage, add, plan, journal, open: () => [...storage.uploads.keys()] };
}

test('the plan lists the uploads, and a yes aborts these and no others, each with its own ending in the journal', async () => {
  const { plan, confirm, open, add, storage, journal } = await cloudWith(12);
  const { result, changeId } = await plan({ olderThan: '7 days' });
  const { show, plan: shown } = (result.ok && result.structured) || {};
  expect(show?.text).toMatch(/^Abort 4 unfinished uploads in 2 buckets, with all parts\.\nThis cannot be undone\.\n/);
  expect(shown?.url).toMatch(/^http:\/\/[\d.:]+\/\{bucket\}\/\{object\}\?uploadId=\{uploadId\}$/);
  expect(show?.text).toContain(
    '4 uploads with 0 bytes, the oldest of 2026-11-18 12:00:00 UTC, the newest of 2026-11-21 12:00:00 UTC.',
  );
  expect(shown?.tables?.[0]?.rows.map((row) => row.map(({ text }) => text).join(' '))).toEqual([
    `"beta" "k/11" "u11" "${daysAgo(11)}" 0`,
    `"alpha" "k/10" "u10" "${daysAgo(10)}" 0`,
    `"beta" "k/9" "u9" "${daysAgo(9)}" 0`,
    `"alpha" "k/8" "u8" "${daysAgo(8)}" 0`,
  ]);

  add(20);
  storage.endUpload('u9');
  const done = await confirm(changeId, 'abort 4');
  expect(done).toMatchObject({
    ok: true,
    structured: {
      outcome: 'accepted',
      answer: {
        ...{ done: 3, gone: 1, failed: 0 },
        uploads: [
          { bucket: 'beta', object: 'k/9', uploadId: 'u9', initiated: daysAgo(9), size: 0, ending: 'gone' },
          { object: 'k/11', ending: 'done' },
          { object: 'k/10', ending: 'done' },
          { object: 'k/8', ending: 'done' },
        ],
      },
    },
  });
  expect(done.text).toMatch(/^3 uploads were aborted, and seen to be gone\. Gone already: 1\.\n/);
  expect(done.text).toContain('"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}');
  expect(open()).toEqual(['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u20']);
  expect((await journal()).sort()).toEqual([
    'abort_multipart_upload u10 accepted',
    'abort_multipart_upload u11 accepted',
    'abort_multipart_upload u8 accepted',
    'abort_multipart_upload u9 rejected NoSuchUpload',
    'abort_multipart_uploads  accepted',
  ]);
});

test('young uploads, those that may still receive, and those of unknown age stay, unless the caller wants them', async () => {
  const { plan, storage, add } = await cloudWith(4);
  add(30, 'yesterday');
  const part = { etag: '0'.repeat(32), checksums: {} };
  for (const [number, seconds] of [5, 4, 3, 2].entries()) {
    const lastModified = new Date(now.getTime() - seconds * 1000).toISOString();
    storage.partsOf('u3').set(String(number + 1), { ...part, lastModified, partNumber: number + 1, size: 5 });
  }
  const careful = await plan({});
  expect(careful.text).toContain('Abort 2 unfinished uploads');
  expect(careful.text).toContain('Left out, because younger than a day or of unknown age: 2.');
  expect(careful.text).toContain('Left out, because perhaps still receiving: 1.');
  const all = await plan({ includeActive: true });
  expect(all.text).toContain('Abort 5 unfinished uploads');
  expect(all.text).toContain('Included, although younger than a day or of unknown age: 2.');
  expect((await plan({ includeActive: true, olderThan: '1 hour' })).text).toContain('Abort 3 unfinished uploads');
});

test('uploads whose parts cannot be read may still receive, so they stay', async () => {
  const { plan } = await cloudWith(3, { fault: 'list_parts=500*9' });
  expect((await plan({})).text).toContain('Left out, because perhaps still receiving: 2.');
});

test('a person types the number', async () => {
  const { plan, store } = await cloudWith(12, { confirm: 'human' });
  const { changeId } = await plan({ olderThan: '7 days' }, true);
  expect(await store.find(changeId)).toMatchObject({ typedName: 'abort 4', list: { length: 4 } });
});

test('more than 1,000 uploads are refused, with how to narrow', async () => {
  const { plan, add } = await cloudWith(0);
  for (let index = 0; index < 1000; index += 1) add(2 * index, daysAgo(2));
  for (let index = 0; index < 10; index += 1) add(2 * index + 1, daysAgo(2));
  expect((await plan({})).text).toContain(
    '1010 uploads match, and one plan takes at most 1000: name a bucket ("alpha" 1000, "beta" 10), a prefix or a greater olderThan',
  );
  expect((await plan({ bucket: 'beta' })).text).toContain('Abort 10 unfinished uploads in bucket "beta"');
});

test('keys stand in quotation marks in the plan and in the outcome', async () => {
  const { plan, confirm, storage } = await cloudWith(0, { fault: 'abort_multipart_upload=429*1' });
  for (const [index, key] of ['x" is safe. ZEBRA: yes', 'ZEBRA? Nothing is deleted.'].entries()) {
    storage.buckets.set('alpha', { created: daysAgo(99) });
    storage.uploads.set(`u${index}`, {
      bucket: 'alpha',
      key,
      uploadId: `u${index}`,
      initiated: daysAgo(9),
      headers: {},
    });
  }
  const { text, changeId } = await plan({ prefix: 'ZEBRA? ' });
  const unquoted = (shown: string) => shown.replace(/"(?:[^"\\]|\\.)*"|^.*\/alpha\/.*$/gm, '""');
  expect(unquoted(text)).not.toMatch(/zebra/i);
  expect(text).toContain('Abort 1 unfinished upload in bucket "alpha"');
  const done = await confirm(changeId, 'ZEBRA? Nothing is deleted.');
  expect(done.ok).toBe(false);
  expect(unquoted(done.text)).not.toMatch(/zebra/i);
});

test.each([
  [{ olderThan: '9 weeks' }, 'No unfinished upload matches.'],
  [{ prefix: 'k/0' }, 'Of 1 unfinished upload that match, none is to be aborted. Left out, because younger than a day'],
])('if nothing is to be aborted (%o), that is no mistake, and there is no plan', async (args, why) => {
  const { plan, store } = await cloudWith(3);
  const { result, text } = await plan(args);
  expect(result).toMatchObject({ failure: { code: 'NothingToDo', mayHaveHappened: false, next: { who: 'nobody' } } });
  expect(text).toMatch(/^abort_multipart_uploads was not sent: nothing matches, so there is nothing to do\.\n/);
  expect(text).toContain(`- ${why}`);
  expect(await store.waiting({})).toEqual([]);
});

test('an answer with more uploads than the store keeps says how many only the journal has', async () => {
  const { plan, confirm, store, storage } = await cloudWith(0);
  storage.buckets.set('alpha', { created: daysAgo(99) });
  for (let index = 0; index < 100; index += 1)
    storage.uploads.set(`u${index}`, {
      ...{ bucket: 'alpha', key: `${index}/${'x'.repeat(900)}`, uploadId: `u${index}` },
      ...{ initiated: daysAgo(2), headers: {} },
    });
  const { changeId } = await plan({});
  await confirm(changeId, 'abort 100');
  // On a busy machine the call is answered while the change goes on.
  await expect.poll(async () => (await store.find(changeId))?.state).toBe('accepted');
  const outcome = (await store.find(changeId))?.ending?.outcome;
  const { done, notListed, uploads } = z
    .object({ done: z.int(), notListed: z.int(), uploads: z.array(z.unknown()) })
    .parse(outcome?.kind === 'succeeded' && outcome.success.answer);
  expect([done, notListed > 20, notListed + uploads.length]).toEqual([100, true, 100]);
});

test('what failed is named with its code, and the outcome is "partly"', async () => {
  const { plan, confirm, journal } = await cloudWith(5, { fault: 'abort_multipart_upload=429*2' });
  const { changeId } = await plan({ olderThan: '1 day' });
  const done = await confirm(changeId, 'abort 3');
  expect(done).toMatchObject({
    ok: true,
    structured: {
      outcome: 'partly',
      failed: { count: 2 },
      answer: { done: 1, failed: 2, uploads: [{ ending: 'failed', code: 'Http429' }, {}, { ending: 'done' }] },
    },
  });
  expect(done.text).toMatch(/^2 of 3 entries failed: "k\/\d", "k\/\d" \(code "Http429"\)\. 1 upload was aborted/);
  const rejected = (await journal()).filter((line) => line.endsWith('rejected Http429'));
  expect(rejected).toHaveLength(2);
});

test('if all fail, the change is rejected', async () => {
  const { plan, confirm } = await cloudWith(4, { fault: 'abort_multipart_upload=429*9' });
  const { changeId } = await plan({ olderThan: '1 day' });
  expect(await confirm(changeId, 'abort 2')).toMatchObject({
    ok: false,
    failure: { outcome: 'rejected', mayHaveHappened: false, status: 429 },
  });
});

test('an answer that is lost is no guess: the upload is looked for', async () => {
  const { plan, confirm, open, journal } = await cloudWith(4, {
    fault: 'abort_multipart_upload=reset-after-request*2',
  });
  const { changeId } = await plan({ olderThan: '1 day' });
  expect(await confirm(changeId, 'abort 2')).toMatchObject({
    ok: true,
    structured: { answer: { done: 2, failed: 0 } },
  });
  expect(open()).toEqual(['u0', 'u1']);
  expect(await journal()).toContain('abort_multipart_upload u2 accepted GoneAfterwards');
});

test('what is still there after the abort failed, and what cannot be looked for is said', async () => {
  let isDown = false;
  const httpClient = createHttpClient({}, defaultLimits);
  const lost = { kind: 'failure', code: 'ConnectionLost', detail: 'ECONNRESET', mayHaveArrived: true } as const;
  const { plan, confirm, storage } = await cloudWith(4, {
    httpClient: {
      ...httpClient,
      send: async (request, signal) => (isDown && request.method === 'GET' ? lost : httpClient.send(request, signal)),
    },
  });
  const [first, second] = [await plan({ olderThan: '1 day' }), await plan({ olderThan: '2 days' })];
  isDown = true;
  expect((await confirm(second.changeId, 'k/3')).text).toMatch(/^Aborted, but not seen to be gone: 1\./);
  isDown = false;
  Object.assign(storage, { endUpload: () => [] });
  expect((await confirm(first.changeId, 'abort 2')).text).toContain('1 of 2 entries failed: "k/2" (code "StillThere")');
});

test('each upload counts in the budget, and a plan beyond it is refused', async () => {
  const { plan, confirm, open } = await cloudWith(12, { budget: { mostChanges: 5, windowMs: 3600_000 } });
  const { text, changeId } = await plan({ olderThan: '8 days' });
  expect(text).toContain('It takes 3 changes of the 5 that are left within');
  await confirm(changeId, 'abort 3');
  expect(open()).toHaveLength(9);
  expect((await plan({ olderThan: '5 days' })).text).toContain('these are 3 changes, and 2 are left within');
});

test('a list that is not the one that was shown is not carried out', async () => {
  const store = memoryStore(() => now);
  const tampered = {
    ...store,
    decide: async (...given: Parameters<typeof store.decide>) => {
      const decided = await store.decide(...given);
      const more = (change: Change) => ({
        ...change,
        list: [...(change.list ?? []), { bucket: 'alpha', object: 'k/0', uploadId: 'u0' }],
      });
      return decided.kind === 'decided' ? { ...decided, change: more(decided.change) } : decided;
    },
  };
  const { plan, confirm, open } = await cloudWith(4, { store: tampered });
  const { changeId } = await plan({ olderThan: '1 day' });
  expect(await confirm(changeId, 'abort 2')).toMatchObject({
    ok: false,
    failure: { code: 'PlanRefused', outcome: 'not sent' },
  });
  expect(open()).toHaveLength(4);
});

test('rules', () => {
  expect(problems(abortMultipartUploads, { olderThan: 'soon' })).toEqual([
    'olderThan: "soon" must be an age, such as "7 days", "12 hours" or "2 weeks"',
  ]);
  for (const olderThan of [
    '7 days',
    '7 Days',
    ' 7 DAYS ',
    '7d',
    '7 D',
    '1 day',
    '12h',
    '12 Hours',
    '2 weeks',
    '36 hours',
  ])
    expect(problems(abortMultipartUploads, { olderThan })).toEqual([]);
  // No caller brings a list of its own.
  expect(problems(abortMultipartUploads, { uploads: [] })).toHaveLength(1);
});
