import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import type { Policy } from '../../src/calls/policy.js';
import { defaultReadLimits } from '../../src/calls/read-limits.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { parseBody } from '../../src/transport/parse-body.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { say } from '../../src/util/safe-text.js';
import { contextOf, type Ended, never, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';
import { answeredBy, scriptedClient, unanswered } from '../support/scripted-client.js';
import { countTurns } from '../support/turns.js';

/** The answer to a read: one record of all its pages, with what there is to say of each. */

const args = { bucket: 'b', object: 'o', uploadId: 'u', view: 'summary' };
const part = (number: number, size: unknown = '10') => ({
  PartNumber: `${number}`,
  LastModified: '2026-11-20T12:00:00.000Z',
  ETag: '"e"',
  Size: size,
});
interface FakePage {
  readonly parts?: readonly object[];
  readonly next?: number;
  readonly attempts?: number;
}
const page = ({ parts = [], next, attempts = 1 }: FakePage): FinalReply => {
  const marker = next === undefined ? {} : { NextPartNumberMarker: `${next}` };
  const result = { IsTruncated: `${next !== undefined}`, Part: parts, ...marker };
  return answeredBy(200, { kind: 'xml', value: { ListPartsResult: result } }, attempts);
};

async function read(replies: readonly FinalReply[], operation: Operation = listParts, given: object = args) {
  const left = [...replies];
  const { openClient, requests } = scriptedClient(async () => left.shift() ?? unanswered(false));
  const { call } = testCaller('http://127.0.0.1:1', { openClient });
  const seen: unknown[] = [];
  const result = await call(operation, given, { signal: never, watch: { onPage: (...counts) => seen.push(counts) } });
  return Object.assign(result, { seen, requests });
}

const successOf = (result: Ended) => {
  if (!result.ok) throw new Error(`the call failed: ${result.text}`);
  return result.structured;
};

test('pages that others follow are counted with their entries, while they come', async () => {
  const pages = [page({ parts: [part(1), part(2)], next: 2 }), page({ parts: [part(3)], next: 3 }), page({})];
  const { seen } = await read(pages);
  expect(seen).toEqual([
    [1, 2],
    [2, 3],
  ]);
});

test('large pages of calls at the same time are read one after the other, with other work between', async () => {
  const parts = Array.from({ length: 1000 }, (_, index) => part(index + 1));
  using otherWork = countTurns();
  const read: number[] = [];
  const { pages } = listParts;
  if (pages === undefined) throw new Error('the read has no pages');
  const add: typeof pages.add = (...page) => {
    read.push(otherWork.turns);
    return pages.add(...page);
  };
  const text = '<Part/>'.repeat(3000);
  const { openClient } = scriptedClient(async () => ({ ...page({ parts }), readText: async (read) => read(text) }));
  const { call } = testCaller('http://127.0.0.1:1', { openClient });
  const operation = { ...listParts, pages: { ...pages, add } };
  await Promise.all(Array.from({ length: 5 }, () => call(operation, args)));
  expect(read).toHaveLength(5);
  expect(new Set(read).size).toBe(5);
});

test('what there is to warn of is said once, though it is on each page', async () => {
  const odd = page({ parts: [part(1, 'many')], next: 1 });
  const result = await read([odd, page({ parts: [part(2, 'many')] })]);
  const told = successOf(result).warnings.filter((warning) => warning.text.includes('many'));
  expect(told.map(({ text }) => text)).toEqual([
    'parts[0].size in the answer is "many", not a number; it was left out.',
  ]);
});

test('a warning names the first page that has it, unless its index counts from the start', async () => {
  const odd = (number: number) => page({ parts: [part(number, 'many')], ...(number < 4 && { next: number }) });
  const result = await read([page({ parts: [part(1)], next: 1 }), odd(2), odd(3), odd(4)]);
  const told = successOf(result).warnings.filter((warning) => warning.text.includes('many'));
  expect(told.map(({ text }) => text)).toEqual([
    'Page 2: parts[0].size in the answer is "many", not a number; it was left out.',
  ]);
});

test('the number of warnings about pages is bounded', async () => {
  const sizes = Array.from({ length: 50 }, (_, index) => `many ${index}`);
  const pages = sizes.map((size, index) => page({ parts: [part(index + 1, size)], next: index + 1 }));
  const { warnings } = successOf(await read([...pages, page({ parts: [part(60)] })]));
  expect(warnings.filter(({ text }) => text.includes('"many '))).toHaveLength(40);
  expect(warnings.map(({ text }) => text)).toContain('10 more warnings about pages were left out.');
});

describe('the attempts', () => {
  test('are those of the pages that took several', async () => {
    const result = await read([page({ parts: [part(1)], next: 1, attempts: 2 }), page({ parts: [part(2)] })]);
    const attempts = [{ result: '429', waitedMs: 150 }, { result: '200' }];
    expect(result).toMatchObject({ structured: { attempts, requestIds: { 'x-request-id': 'r-1' } } });
  });

  test('are left out if all pages came at once', async () => {
    const result = await read([page({ parts: [part(1)], next: 1 }), page({})]);
    expect(successOf(result)).not.toHaveProperty('attempts');
  });
});

test('a page that is no answer of the API ends the reading', async () => {
  const { requests, ...result } = await read([answeredBy(200, { kind: 'html', text: '<html>' }, 2)]);
  const attempts = [{ result: '429', waitedMs: 150 }, { result: '200' }];
  const failure = { code: 'UnreadableAnswer', requestIds: { 'x-request-id': 'r-1' }, attempts, status: 200 };
  expect(result).toMatchObject({ failure });
  expect(requests).toHaveLength(1);
});

describe('pages', () => {
  /** An operation that goes wherever its pages send it, and keeps their number. */
  const { pages, followUpRead: _followUp, ...rest } = listParts;
  const following = (placeAfter: (number: number) => string): Operation => ({
    ...rest,
    request: (_input, after) => ({ path: '/', query: { ...after } }),
    pages: {
      page: () => z.object({}),
      start: () => 0,
      count: () => 1,
      add: (_state, { number }) => ({ kind: 'next', state: number, after: { token: placeAfter(number) } }),
      result: () => ({}),
    },
    summarize: () => say``,
  });
  const pagesOf = (operation: Operation) => {
    if (operation.pages === undefined) throw new Error('it has no pages');
    return operation.pages;
  };
  const replies = (count: number) => Array.from({ length: count }, () => page({}));

  test.each([
    ['the page itself', () => 'same', 2, 'page 2 leads back'],
    ['an earlier one', (number: number) => String(number % 3), 4, 'page 4 leads back'],
  ])('that lead to %s end the list, which may be incomplete', async (_where, placeAfter, count, problem) => {
    const { requests, ...result } = await read(replies(count + 1), following(placeAfter));
    const { warnings } = successOf(result);
    expect(warnings.map(({ text }) => text)).toEqual([
      expect.stringMatching(`^The list may be incomplete, because ${problem}`),
    ]);
    expect(requests).toHaveLength(count);
  });

  test.each([
    ['100 pages', 1, 100, 100],
    ['20,000 entries', 4_000, 5, 20_000],
  ])('that go on for ever end after %s, and the answer says of what it is', async (_bound, entries, count, sum) => {
    const rests: unknown[] = [];
    const endless = following(String);
    const operation: Operation = {
      ...endless,
      pages: {
        ...pagesOf(endless),
        count: () => entries,
        result: (state, _input, { unread }) => {
          rests.push(unread);
          return { state };
        },
      },
    };
    const { requests, ...result } = await read(replies(count + 1), operation);
    expect(requests).toHaveLength(count);
    expect(rests).toEqual([{ token: String(count) }]);
    const { answer, warnings } = successOf(result);
    expect(answer).toEqual({ state: count });
    expect(warnings).toEqual([
      expect.stringMatching(`^Only the first ${count} pages with ${sum} entries were read, as much as one call reads.`),
    ]);
  });
});

test('a large read for which there is no room beside the others fails at once, and says when to call again', async () => {
  let release = (_reply: FinalReply): void => undefined;
  const held = new Promise<FinalReply>((resolve) => {
    release = resolve;
  });
  const { openClient, opened } = scriptedClient(async () => {
    const isAdmitted = opened.at(-1)?.[1].byteLimit?.admit(defaultReadLimits.bytes) === true;
    return isAdmitted ? held : unanswered(true);
  });
  const { call } = testCaller('http://127.0.0.1:1', { openClient });
  const most = defaultReadLimits.bytesOfAll / defaultReadLimits.bytes;
  const calls = Array.from({ length: most }, () => call(listParts, args, { signal: never }));
  await vi.waitFor(() => expect(opened).toHaveLength(most));
  const { ok, text } = await call(listParts, args, { signal: never });
  expect(ok).toBe(false);
  expect(text).toMatch(/^list_parts failed: this server is reading as much as it can hold for other calls\./);
  expect(text).toContain('code: TooManyReads');
  expect(text).toContain('next: Call again in about 10 s.');
  release(page({ parts: [part(1)] }));
  expect((await Promise.all(calls)).filter((each) => !each.ok)).toEqual([]);
  expect((await call(listParts, args, { signal: never })).ok).toBe(true);
});

test('an answer with too many values is refused before an operation of a model reads it, and the next step says what to do', async () => {
  const { openClient } = scriptedClient(async () => answeredBy(200, parseBody(`{"a":[${'{},'.repeat(50_000)}{}]}`)));
  const { call } = testCaller('http://127.0.0.1:1', { openClient });
  const { pages: _, followUpRead: _followUp, ...rest } = listParts;
  const extract = vi.fn();
  const { text } = await call({ ...rest, answer: 'jsonText', extract } as Operation, args, { signal: never });
  expect(text).toContain('it looks like JSON, but it has more than 50000 values.');
  expect(text).toContain('code: ResponseTooLarge');
  expect(text).toContain('next: Call again for less at once: fewer entries, a smaller page, or a filter.');
  expect(extract).not.toHaveBeenCalled();
});

test('a text is read however many commas it has', async () => {
  const csv = 'a,'.repeat(500_000);
  const { openClient } = scriptedClient(async () => ({
    ...answeredBy(200, parseBody(csv)),
    readText: async (read) => read(csv),
  }));
  const { call } = testCaller('http://127.0.0.1:1', { openClient });
  const { pages: _, followUpRead: _followUp, ...rest } = listParts;
  const extract = (text: unknown) => ({ partCount: String(text).length });
  const operation = { ...rest, answer: 'text', extract, summarize: () => say`Read.` } as Operation;
  expect(successOf(await call(operation, args, { signal: never })).answer).toEqual({ partCount: csv.length });
});

test.each([
  ['are logged', () => z.object({ partCount: z.int(), bucket: z.string() }), [['bucket']]],
  ['are not logged if there are none', () => z.object({ partCount: z.int() }), []],
])('fields that the answer to a read lacks %s', async (_how, output, lacks) => {
  const { pages: _, followUpRead: _followUp, ...unpaged } = listParts;
  const extract = () => ({ partCount: 3 });
  const operation = { ...unpaged, output, extract, summarize: () => say`Read.` } as unknown as Operation;
  const { openClient } = scriptedClient(async () => page({}));
  const { call, logged } = testCaller('http://127.0.0.1:1', { openClient });
  await call(operation, args, { signal: never });
  const tool = listParts.name;
  expect(logged.filter(({ event }) => event === 'answer')).toEqual(
    lacks.map((names) => ({ level: 'debug', event: 'answer', fields: { tool, lacks: names } })),
  );
});

describe('a client that shows views', () => {
  const viewOf = async (hasView: boolean | undefined, operation: Operation = listParts, view = 'summary') => {
    const { openClient } = scriptedClient(async () => page({ parts: [part(1), part(2)] }));
    const { carryOut } = testCaller('http://127.0.0.1:1', { openClient });
    const context = contextOf({ client: hasView === undefined ? {} : { views: hasView } });
    return carryOut(operation, { ...args, view }, context);
  };

  test('gets the parts of an upload', async () => {
    const outcome = await viewOf(true);
    const view = outcome.kind === 'succeeded' && outcome.view?.kind === 'parts' ? outcome.view : { parts: [] };
    expect(view.parts.map(({ partNumber }) => partNumber)).toEqual([1, 2]);
  });

  test('gets none if there are more pages than one call reads', async () => {
    let number = 0;
    const { openClient } = scriptedClient(async () => {
      number += 1;
      return page({ parts: [part(number)], next: number });
    });
    const { carryOut } = testCaller('http://127.0.0.1:1', { openClient });
    const outcome = await carryOut(listParts, args, contextOf({ client: { views: true } }));
    expect([number, outcome.kind]).toEqual([defaultReadLimits.pages, 'succeeded']);
    expect(outcome).not.toHaveProperty('view');
  });

  const { pages: _, followUpRead: _followUp, ...rest } = listParts;
  const { parts: __, ...withoutParts } = listParts.pages ?? {};
  test.each([
    ['for another client', false, listParts, 'summary'],
    ['for a client that says nothing', undefined, listParts, 'summary'],
    ['for one page of parts', true, listParts, 'parts'],
    ['for an operation without a view', true, { ...rest, pages: withoutParts } as Operation, 'summary'],
    [
      'for an operation without pages',
      true,
      { ...rest, extract: () => ({}), summarize: () => say`` } as Operation,
      'summary',
    ],
  ])('and nothing more %s', async (_what, hasView, operation, view) => {
    const outcome = await viewOf(hasView, operation as Operation, view);
    expect(outcome.kind).toBe('succeeded');
    expect(outcome).not.toHaveProperty('view');
  });
});

describe('a list without parts is followed by a read of the list of uploads', () => {
  const upload = (id: string) => ({ Key: 'o', UploadId: id, Initiated: '2026-11-20T09:00:00.000Z' });
  const uploads = (ids: readonly string[], more: object = {}) =>
    answeredBy(
      200,
      {
        kind: 'xml',
        value: { ListMultipartUploadsResult: { IsTruncated: 'false', Upload: ids.map(upload), ...more } },
      },
      1,
      { date: 'Fri, 20 Nov 2026 12:00:00 GMT' },
    );
  const refused = answeredBy(403, { kind: 'xml', value: { Error: { Code: 'AccessDenied' } } });
  const s3: Policy = { ...openPolicy, extensions: ['s3'] };
  const now = () => new Date('2026-11-20T12:00:00.000Z');

  async function readBoth(
    list: () => Promise<FinalReply>,
    { policy = s3, parts = [], given = args }: { policy?: Policy; parts?: readonly object[]; given?: object } = {},
  ) {
    const { openClient, requests } = scriptedClient(async (request) =>
      request.query?.uploads === true ? list() : page({ parts }),
    );
    const { call } = testCaller('http://127.0.0.1:1', { openClient, policy, now });
    const { answer, summary } = successOf(await call(listParts, given, { signal: never }));
    const asked = requests.filter(({ query }) => query?.uploads === true);
    return { isListed: answer?.isListed, summary: summary.text, asked };
  }

  test('which shows that it is open, and since when', async () => {
    const { isListed, summary, asked } = await readBoth(async () => uploads(['other', 'u']));
    expect(isListed).toBe(true);
    expect(summary).toBe('The upload of "o" was started 3 h ago and has no parts yet.');
    expect(asked.map(({ query }) => query)).toEqual([{ uploads: true, 'max-uploads': '1000', prefix: 'o' }]);
  });

  test('or that it is probably completed or aborted', async () => {
    const { isListed, summary } = await readBoth(async () => uploads(['other']));
    expect(isListed).toBe(false);
    expect(summary).toContain('is not listed among the open uploads: it was probably completed or aborted');
  });

  test('also if a thousand other uploads of the object come first', async () => {
    const others = Array.from({ length: 1000 }, (_, index) => `other-${index}`);
    expect(await readBoth(async () => uploads([...others, 'u']))).toMatchObject({ isListed: true });
  });

  test.each([
    ['fails', async () => refused],
    ['breaks', () => Promise.reject(new Error('broken'))],
    ['does not say whether more follow', async () => uploads(['other'], { IsTruncated: 'perhaps' })],
    ['is incomplete', async () => uploads(['other'], { IsTruncated: 'true' })],
  ])('and nothing is claimed if that read %s', async (_, list) => {
    const { isListed, summary } = await readBoth(list);
    expect(isListed).toBeUndefined();
    expect(summary).toContain('whether it is open could not be checked');
  });

  test('unless the policy does not allow it, or it is not needed', async () => {
    const list = async () => uploads(['u']);
    expect((await readBoth(list, { policy: { ...openPolicy, tools: ['list_parts'] } })).asked).toEqual([]);
    expect((await readBoth(list, { parts: [part(1)] })).asked).toEqual([]);
    expect((await readBoth(list, { given: { ...args, view: 'parts' } })).asked).toEqual([]);
  });

  test('for at most five seconds, and no timer stays behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { openClient, opened } = scriptedClient(async (request) =>
        request.query?.uploads === true ? untilAborted() : page({}),
      );
      const untilAborted = () =>
        new Promise<never>((_resolve, reject) => {
          const limited = opened.map(([, { signal }]) => signal).find((signal) => signal !== never);
          limited?.addEventListener('abort', () => reject(limited.reason));
        });
      const { call } = testCaller('http://127.0.0.1:1', { openClient, policy: s3 });
      const called = call(listParts, args, { signal: never });
      await vi.advanceTimersByTimeAsync(4999);
      expect(await Promise.race([called, 'pending'])).toBe('pending');
      await vi.advanceTimersByTimeAsync(1);
      expect(successOf(await called).answer).not.toHaveProperty('isListed');
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
