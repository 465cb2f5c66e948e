import { expect, test } from 'vitest';
import { checkRegions } from '../../src/calls/policy.js';
import { Refusal } from '../../src/calls/refusal.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

/** CLOUDOPS_REGIONS limits the regions and zones in arguments, also under the names that models give them. */

const policy = { readOnly: false, tools: undefined, regions: ['jp-east-1'] };

test.each([{ Region: 'jp-west-1' }, { Copies: [{ SourceRegion: 'jp-west-1' }] }, { AvailabilityZones: ['west-12'] }])(
  '%j is refused',
  (input) => {
    expect(() => checkRegions(policy, undefined, { ...input })).toThrow(Refusal);
  },
);

test.each([
  { Region: 'jp-east-1' },
  { SourceRegion: 'jp-east-1' },
  { AvailabilityZone: 'east-11' },
  { RegionCount: 'x' },
])('%j is allowed', (input) => {
  expect(() => checkRegions(policy, 'jp-east-1', { ...input })).not.toThrow();
});

test.each([
  ['ext', 'us-east-1', true],
  ['ext', 'jp-west-2', false],
  // Another store that speaks S3 has regions of its own.
  ['amz', 'us-east-1', false],
] as const)('with the headers %s, region %s is warned of: %s', async (storageHeaders, region, isWarnedOf) => {
  const server = await startServer((_request, response) =>
    response.end('<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>'),
  );
  const { call, close } = testCaller(server.origin, {
    cloud: { storageHeaders },
    policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
  });
  const upload = { bucket: 'b', object: 'o', uploadId: 'u', region };
  const results = [
    await call(listParts, upload, { signal: never }),
    await call(abortMultipartUpload, { ...upload, planOnly: true }, { signal: never }),
  ];
  await close();
  await server.close();
  for (const { text } of results) expect(text.includes(`Region "${region}" is not among`), text).toBe(isWarnedOf);
});

test('the regions of an API that is not storage are known whatever headers the store has', async () => {
  const { call, close } = testCaller('http://127.0.0.1:1', { cloud: { storageHeaders: 'amz' } });
  const args = { ...restoreInstance.example, region: 'us-east-1', planOnly: true };
  const { text } = await call(restoreInstance, args, { signal: never });
  await close();
  expect(text).toContain('Region "us-east-1" is not among');
});
