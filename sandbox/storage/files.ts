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

/** The files that hold uploaded bytes. */
export function createFiles({ folder, durable, flushed }: State) {
  let readers = 0;
  /** Files to delete when no read is in progress. */
  const waiting: string[] = [];

  async function remove(files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    if (readers > 0) return void waiting.push(...files);
    await flushed();
    const path = await folder();
    await Promise.all(files.map((file) => rm(join(path, file), { force: true })));
  }

  async function* bytesOf(parts: readonly Part[], first: number, last: number): AsyncGenerator<Buffer> {
    const path = await folder();
    const zeros = Buffer.alloc(64 * 1024);
    let before = 0;
    for (const { file, size } of parts) {
      const start = Math.max(first - before, 0);
      const end = Math.min(last + 1 - before, size);
      before += size;
      if (start >= end) continue;
      if (file !== undefined) yield* createReadStream(join(path, file), { start, end: end - 1 });
      else for (let left = end - start; left > 0; left -= zeros.length) yield zeros.subarray(0, left);
    }
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
      readers += 1;
      return Readable.from(bytesOf(parts, first, last)).once('close', () => {
        readers -= 1;
        // The next start deletes files that could not be deleted now.
        remove(waiting.splice(0)).catch(() => undefined);
      });
    },
    /** Deletes the bodies of parts, after the change that dropped the parts is on disk. */
    remove: (parts: readonly Part[]) => remove(filesOf(parts)),
    /** Deletes all bodies except the bodies of `parts`. */
    async keepOnly(parts: readonly Part[]): Promise<void> {
      const kept = new Set(filesOf(parts));
      await remove((await readdir(await folder())).filter((file) => !kept.has(file)));
    },
  };
}
