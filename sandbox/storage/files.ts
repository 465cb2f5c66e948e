import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ApiRequest, ServiceError } from '../http.js';
import type { State } from '../state.js';
import { receive } from './bodies.js';
import type { Part } from './records.js';

const maximumBody = 5 * 1024 ** 3;

const filesOf = (parts: readonly Part[]) => parts.flatMap(({ file }) => file ?? []);

/** Yields the bytes `first` to `last` (counted from 0) of all parts together. Parts without a file consist of zeros. */
async function* bytesOf(
  folder: State['folder'],
  parts: readonly Part[],
  first: number,
  last: number,
): AsyncGenerator<Buffer> {
  const path = await folder();
  const zeros = Buffer.alloc(64 * 1024);
  let offset = 0;
  for (const { file, size } of parts) {
    const start = Math.max(first - offset, 0);
    const end = Math.min(last + 1 - offset, size);
    offset += size;
    if (start >= end) continue;
    if (file !== undefined) yield* createReadStream(join(path, file), { start, end: end - 1 });
    else for (let left = end - start; left > 0; left -= zeros.length) yield zeros.subarray(0, left);
  }
}

/** The files that hold uploaded bytes. */
export function createFiles({ folder, durable, flushed }: State) {
  let runningReads = 0;
  /** Files to delete when no read is in progress. */
  const unwanted: string[] = [];

  async function removeFiles(files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    if (runningReads > 0) {
      unwanted.push(...files);
      return;
    }
    // Waits until the change that dropped the files is on disk.
    await flushed();
    const path = await folder();
    await Promise.all(files.map((file) => rm(join(path, file), { force: true })));
  }

  return {
    /** Streams a body into a new file. If the body does not match its headers, deletes the file and throws a `ServiceError`. */
    async receive(request: ApiRequest, algorithm?: string) {
      if ((request.headers['content-length'] ?? request.headers['x-amz-decoded-content-length']) === undefined)
        throw new ServiceError(411, 'MissingContentLength', 'The header content-length is missing.');
      const file = randomUUID();
      const path = join(await folder(), file);
      const store = (payload: AsyncIterable<Buffer>) =>
        pipeline(payload, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: durable }));
      try {
        const { size, etag, checksums } = await receive(request, maximumBody, store, algorithm);
        return { file, size, etag, checksums };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
    /** Reads the bytes `first` to `last` (counted from 0) of an object's parts. Files that are removed meanwhile stay until the read ends. */
    read(parts: readonly Part[], first: number, last: number): Readable {
      runningReads += 1;
      return Readable.from(bytesOf(folder, parts, first, last)).once('close', () => {
        runningReads -= 1;
        // The next start deletes files that could not be deleted now.
        removeFiles(unwanted.splice(0)).catch(() => undefined);
      });
    },
    /** Deletes the bodies of parts, after the change that dropped the parts is on disk. */
    remove: (parts: readonly Part[]) => removeFiles(filesOf(parts)),
    /** Deletes all bodies except the bodies of `parts`. */
    async keepOnly(parts: readonly Part[]): Promise<void> {
      const used = new Set(filesOf(parts));
      const files = await readdir(await folder());
      await removeFiles(files.filter((file) => !used.has(file)));
    },
  };
}
