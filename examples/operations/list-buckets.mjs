// ListBuckets of S3 lists the account's buckets, page by page.
// Offered with CLOUDOPS_OPERATIONS=./list-buckets.mjs and an endpoint in CLOUDOPS_STORAGE_URL.

/** @param {import('cloudops-mcp/operation').Kit} kit */
export default ({ defineOperation, z, xmlRecord, counted, say }) => [
  defineOperation({
    name: 'list_buckets',
    api: 'ListBuckets',
    title: 'List the buckets of the account',
    description: 'Lists the buckets of the account with the time at which each was created. It only reads.',
    effect: 'read',
    service: 'storage',
    method: 'GET',
    answer: 'xml',
    input: () => z.strictObject({}),
    example: {},
    probe: { arguments: {}, accepted: [] },
    output: () =>
      z.object({
        buckets: z.array(z.object({ name: z.string(), creationDate: z.string().optional() })),
        bucketCount: z.int(),
      }),

    request: (_input, after) => ({ path: '/', query: { ...after } }),

    extract(/** @type {any} */ body) {
      /** @type {any} */
      const result = xmlRecord(body?.ListAllMyBucketsResult, {
        lists: { Bucket: 'bucket' },
        values: [],
        structures: ['Buckets', 'Owner'],
        names: {},
      });
      return result && { buckets: result.buckets?.bucket ?? [], continuationToken: result.continuationToken };
    },

    pages: {
      page: () =>
        z.object({
          buckets: z.array(z.object({ name: z.string(), creationDate: z.string().optional() })),
          continuationToken: z.string().optional(),
        }),
      start: () => ({ first: /** @type {{ name?: string | undefined }[]} */ ([]), count: 0 }),
      add({ first, count }, { record: { buckets = [], continuationToken } }) {
        // Counts all buckets and keeps the first hundred, which are enough for a model.
        const state = { first: [...first, ...buckets].slice(0, 100), count: count + buckets.length };
        if (!continuationToken) return { kind: 'end', state };
        return { kind: 'next', state, after: { 'continuation-token': continuationToken } };
      },
      result: ({ first, count }) => ({ buckets: first, bucketCount: count }),
      count: ({ buckets = [] }) => buckets.length,
    },

    summarize({ buckets = [], bucketCount = 0 }) {
      const [first] = buckets;
      const begin = first?.name ? say`; the first is ${first.name}` : say``;
      return say`The account has ${counted(bucketCount, 'bucket')}${begin}.`;
    },
  }),
];
