import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ApiRequest, ServiceError } from '../http.js';
import type { State } from '../state.js';
import { receiveBody } from './bodies.js';
import type { Part } from './records.js';

const maximumBody = 5 * 1024 ** 3;

const filesOf = (parts: readonly Part[]) => parts.flatMap(({ file }) => file ?? []);

/** Yields the bytes from `firstByte` to `lastByte` (counted from 0) of an object with these parts. A part without a file consists of zeros. */
async function* bytesOf(
  folder: State['folder'],
  parts: readonly Part[],
  firstByte: number,
  lastByte: number,
): AsyncGenerator<Buffer> {
  const folderPath = await folder();
  const zeros = Buffer.alloc(64 * 1024);
  let partOffset = 0;
  for (const { file, size } of parts) {
    // The range of wanted bytes within this part. `end` is excluded.
    const start = Math.max(firstByte - partOffset, 0);
    const end = Math.min(lastByte + 1 - partOffset, size);
    partOffset += size;
    if (start >= end) continue;

    if (file !== undefined) {
      yield* createReadStream(join(folderPath, file), { start, end: end - 1 });
    } else {
      for (let unsent = end - start; unsent > 0; unsent -= zeros.length) yield zeros.subarray(0, unsent);
    }
  }
}

/** The files with the bodies of objects and parts. */
export function createFiles({ folder, durable, flushChanges }: State) {
  let runningReads = 0;
  /** Files that are deleted when no read is running, because a running read may still need them. */
  const unwanted: string[] = [];

  async function removeFiles(files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    if (runningReads > 0) {
      unwanted.push(...files);
      return;
    }
    // The records that name the files must be gone from disk first. Otherwise a killed process would leave records without files.
    await flushChanges();
    const folderPath = await folder();
    await Promise.all(files.map((file) => rm(join(folderPath, file), { force: true })));
  }

  return {
    /** Writes a body to a new file. If the body does not match its headers, deletes the file and throws a `ServiceError`. */
    async receive(request: ApiRequest, algorithm?: string) {
      if ((request.headers['content-length'] ?? request.headers['x-amz-decoded-content-length']) === undefined)
        throw new ServiceError(411, 'MissingContentLength', 'The header content-length is missing.');
      const file = randomUUID();
      const path = join(await folder(), file);
      const store = (payload: AsyncIterable<Buffer>) =>
        pipeline(payload, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: durable }));
      try {
        const { size, etag, checksums } = await receiveBody(request, maximumBody, store, algorithm);
        return { file, size, etag, checksums };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
    /** Reads the bytes from `firstByte` to `lastByte` of an object. Its files stay until the read ends, even if they are removed meanwhile. */
    read(parts: readonly Part[], firstByte: number, lastByte: number): Readable {
      runningReads += 1;
      return Readable.from(bytesOf(folder, parts, firstByte, lastByte)).once('close', () => {
        runningReads -= 1;
        // If other reads are still running, the files are queued again. Files that cannot be deleted are deleted by the next start.
        removeFiles(unwanted.splice(0)).catch(() => undefined);
      });
    },
    /** Deletes the bodies of parts whose records were deleted. */
    remove: (parts: readonly Part[]) => removeFiles(filesOf(parts)),
    /** Deletes all bodies except those of `parts`. */
    async keepOnly(parts: readonly Part[]): Promise<void> {
      const used = new Set(filesOf(parts));
      const files = await readdir(await folder());
      await removeFiles(files.filter((file) => !used.has(file)));
    },
  };
}
