import { Readable } from 'node:stream';
import { openCloud } from '../../sandbox/cloud.js';
import { answer, findOperation } from '../../sandbox/dispatch.js';
import type { ServiceName } from '../../sandbox/http.js';
import { type Sandbox, seededUpload } from '../../sandbox/sandbox.js';
import { seedsOf } from '../../sandbox/seeds.js';
import { type Change, temporaryState } from '../../sandbox/state.js';
import type { Part, UploadName } from '../../sandbox/storage/records.js';

/** The sandbox's cloud in this process, without HTTP and signatures. Everything is there again after `reopen`. */
export function testCloud({ now }: { now: () => Date }) {
  const kept: Change[] = [];
  const open = () => {
    const changes: Change[] = JSON.parse(JSON.stringify(kept));
    const queueChange = (change: Change) => void kept.push(change);
    const state = { ...temporaryState({ seed: 'test', started: now().toISOString() }), changes, queueChange };
    return openCloud(now, state, seedsOf(state));
  };
  let cloud = open();
  return {
    reopen: () => {
      cloud = open();
    },
    /** How many changes were kept. */
    changes: () => kept.length,
    /** Resolves with the body as text, or as the value of its JSON. */
    async send(service: ServiceName, method: string, url: string, body: unknown = {}, headers = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const [path = '', query = ''] = url.split('?');
      const request = {
        id: 'test',
        service,
        method,
        url,
        path,
        query: new Map(new URLSearchParams(query)),
        headers: { host: '127.0.0.1', 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers },
        body: Buffer.from(text),
      };
      const whole = { ...request, stream: Readable.from([request.body]) };
      const response = await answer(findOperation(whole), whole, cloud);
      const isJson = response.headers['content-type'] === 'application/json';
      return {
        status: response.status,
        headers: response.headers,
        body: isJson ? JSON.parse(response.body) : response.body,
      };
    },
  };
}

/** Arguments of tools for the upload that every sandbox has from the start. */
export const uploadArguments = {
  bucket: seededUpload.bucket,
  object: seededUpload.key,
  uploadId: seededUpload.uploadId,
};

/** Puts an upload into a sandbox. */
export function addUpload({ storage }: Sandbox, upload: UploadName, parts: readonly Omit<Part, 'checksums'>[]): void {
  storage.buckets.set(upload.bucket, { created: '2026-01-01T00:00:00Z' });
  storage.uploads.set(upload.uploadId, { ...upload, initiated: '2026-01-01T00:00:00Z', headers: {} });
  for (const part of parts) storage.partsOf(upload.uploadId).set(String(part.partNumber), { ...part, checksums: {} });
}
