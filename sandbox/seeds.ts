import { createHash } from 'node:crypto';
import type { Part, Upload, UploadName } from './uploads.js';

/** The multipart uploads that are there from the start. */

/** In progress: 15 parts of 16, of which three are missing. */
export const seededUpload: UploadName = {
  bucket: 'demo-bucket',
  key: 'backups/2026/database.dump',
  uploadId: 'demo-upload-in-progress',
};

/** Complete but for the last word: 10,000 parts. */
export const seededLargeUpload: UploadName = {
  bucket: 'demo-bucket',
  key: 'archive/2025.tar',
  uploadId: 'demo-upload-of-10000-parts',
};

/** Just begun: no parts. */
export const seededEmptyUpload: UploadName = {
  bucket: 'demo-bucket',
  key: 'video/launch.mov',
  uploadId: 'demo-upload-without-parts',
};

const mebibyte = 1024 * 1024;

/** These uploads, as of the time the sandbox started for the first time. */
export function seededUploads(started: Date): Upload[] {
  const before = (seconds: number) => new Date(started.getTime() - seconds * 1000).toISOString();
  const part = (partNumber: number, size: number, secondsAgo: number): Part => ({
    partNumber,
    size,
    etag: createHash('md5').update(`part ${partNumber}`).digest('hex'),
    lastModified: before(secondsAgo),
  });
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  const upload = (name: UploadName, secondsAgo: number, parts: () => Part[]): Upload => ({
    ...name,
    initiated: before(secondsAgo),
    headers: {},
    parts: once(parts),
  });
  const missing = [5, 11, 12];
  return [
    upload(seededUpload, 680, () =>
      numbers(15)
        .filter((number) => !missing.includes(number))
        .map((number) => part(number, 8 * mebibyte, (16 - number) * 40)),
    ),
    upload(seededLargeUpload, 23_700, () =>
      numbers(10_000).map((number) => part(number, (number === 10_000 ? 3 : 16) * mebibyte, 23_600 - number * 2)),
    ),
    upload(seededEmptyUpload, 45, () => []),
  ];
}

/** The parts by number, made when they are first asked for. */
export function once(make: () => readonly Part[]): Upload['parts'] {
  let parts: Map<number, Part> | undefined;
  return () => {
    parts ??= new Map(make().map((part) => [part.partNumber, part]));
    return parts;
  };
}
