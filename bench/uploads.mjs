// Records uploads of real clients: npm run bench -- uploads --record FILE
// Every client takes every course, and FILE gets one upload a line, as in test/traces/uploads.jsonl. That takes a quarter of an hour, and needs
// rclone, the AWS CLI, s3cmd, and python3 with boto3.
import { appendFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { recordUploads } from './record-uploads.mjs';
import { recordings } from './upload-recordings.mjs';

/** Uploads that are recorded at a time. Their rates together are far below what a core can do. */
const together = 8;

const { values: options } = parseArgs({ options: { record: { type: 'string' } } });
if (options.record === undefined) throw new Error('name the file to record to: --record FILE');

const file = options.record;
writeFileSync(file, '');
const onRecorded = (upload) => {
  appendFileSync(file, `${JSON.stringify(upload)}\n`);
  console.log(`${upload.name}: ${upload.arrivals.length} parts in ${Math.round(upload.endedMs / 1000)} s`);
};
await recordUploads(recordings, { together, onRecorded });
