import { expect, test } from 'vitest';
import { nextOfUpload } from '../../../src/tools/upload/sentences.js';

const stopped = { partCount: 3, stopped: true };

test.each([
  [true, 'if they want the upload gone, call abort_multipart_upload.'],
  [false, 'the person who runs this server can abort the upload.'],
])('an upload that has stopped can be aborted through this server only (tool offered: %s)', (canAbort, end) => {
  const { text } = nextOfUpload(stopped, canAbort).text;
  expect(text).toContain(end);
  expect(text).not.toContain('S3 client');
});
