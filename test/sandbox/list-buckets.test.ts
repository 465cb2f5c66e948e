import { expect, test } from 'vitest';
import { testCloud } from '../support/sandbox.js';

/** ListBuckets of S3, in pages: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html */

test('buckets are listed by name, in pages of max-buckets, and by prefix', async () => {
  const { send } = testCloud({ now: () => new Date('2026-11-29T12:00:00Z') });
  for (const name of ['page-c', 'page-a', 'other', 'page-b']) await send('storage', 'PUT', `/${name}`, '');
  const list = async (query: string) => {
    const { body } = await send('storage', 'GET', `/?prefix=page-&${query}`, '');
    const names = [...String(body).matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name);
    return { names, token: /<ContinuationToken>(.*?)</.exec(String(body))?.[1] };
  };
  expect(await list('')).toEqual({ names: ['page-a', 'page-b', 'page-c'], token: undefined });
  const { names, token } = await list('max-buckets=2');
  expect([names, token]).toEqual([['page-a', 'page-b'], expect.any(String)]);
  expect(await list(`max-buckets=2&continuation-token=${token}`)).toEqual({ names: ['page-c'], token: undefined });
});

test.each(['0', '10001', 'x'])('max-buckets=%s is refused', async (maximum) => {
  const { send } = testCloud({ now: () => new Date() });
  expect(await send('storage', 'GET', `/?max-buckets=${maximum}`, '')).toMatchObject({
    status: 400,
    body: expect.stringContaining('<Code>InvalidArgument</Code>'),
  });
});
