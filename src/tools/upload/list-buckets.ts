import * as z from 'zod';
import { isObject } from '../../util/objects.js';
import { counted, say } from '../../util/safe-text.js';
import { defineOperation } from '../define-operation.js';
import { region } from '../schema/fields.js';
import { xmlRecord } from './read-list.js';

/** ListBuckets of S3. It is no tool, but the first request of a read of all buckets. */
export const listBuckets = defineOperation({
  name: 'list_buckets',
  api: 'ListBuckets',
  title: 'List the buckets',
  description: 'Lists the buckets of the account.',
  effect: 'read',
  service: 'storage',
  method: 'GET',
  answer: 'xml',
  extension: 's3',
  example: {},
  defaults: [],
  undocumented: [],
  limitations: [],
  input: () => z.strictObject({ region: region().optional() }),
  output: () => z.object({ buckets: z.array(z.object({ name: z.string() })) }),
  request: ({ region }, after) => ({
    path: '/',
    // AWS refuses requests without it if an account may have more than 10,000 buckets. Other stores ignore it.
    query: { 'max-buckets': '1000', ...after },
    region,
  }),
  extract(body) {
    const record = xmlRecord(isObject(body) ? body.ListAllMyBucketsResult : undefined, {
      lists: { Bucket: 'entries' },
      values: [],
      structures: ['Owner', 'Buckets', 'Bucket'],
      names: {},
    });
    const { entries = [] } = isObject(record?.buckets) ? record.buckets : {};
    return record && { buckets: entries, continuationToken: record.continuationToken };
  },
  pages: {
    page: () =>
      z.object({ buckets: z.array(z.object({ name: z.string() })), continuationToken: z.string().optional() }),
    count: ({ buckets = [] }) => buckets.length,
    start: (): { readonly names: Set<string> } => ({ names: new Set() }),
    add(state, { record: { buckets = [], continuationToken } }) {
      for (const { name } of buckets) if (name !== undefined) state.names.add(name);
      return continuationToken
        ? { kind: 'next', state, after: { 'continuation-token': continuationToken } }
        : { kind: 'end', state };
    },
    result: ({ names }, _input, { unread, mayHaveMore }) => ({
      buckets: [...names].map((name) => ({ name })),
      ...((unread !== undefined || mayHaveMore) && { mayHaveMore: true }),
    }),
  },
  summarize: ({ buckets = [] }) => say`There are ${counted(buckets.length, 'bucket')}.`,
});
