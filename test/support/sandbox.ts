import { Readable } from 'node:stream';
import { openCloud } from '../../sandbox/cloud.js';
import { answer, findOperation } from '../../sandbox/dispatch.js';
import type { ServiceName } from '../../sandbox/http.js';
import { temporaryState } from '../../sandbox/state.js';

/** The sandbox's cloud in this process, without HTTP and signatures. Everything is there again after `reopen`. */
export function testCloud({ now, secondsToSettle = 30 }: { now: () => Date; secondsToSettle?: number }) {
  const records: unknown[] = [];
  const open = () => {
    const kept: Record<string, unknown>[] = JSON.parse(JSON.stringify(records));
    const append = async (record: unknown) => void records.push(record);
    const saved = (name: string) => kept.flatMap((record) => (name in record ? [record[name]] : []));
    const state = { ...temporaryState({}), saved, append };
    return openCloud({ state, now, secondsToSettle, minimumPartSize: 0, started: now(), uploadId: String });
  };
  let cloud = open();
  return {
    reopen: () => {
      cloud = open();
    },
    /** How many changes were kept. */
    changes: () => records.length,
    async send(service: ServiceName, method: string, path: string, body: unknown = {}, headers = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const request = { id: 'test', service, method, path, query: new Map(), headers, body: Buffer.from(text) };
      const whole = { ...request, stream: Readable.from([]) };
      const response = await answer(findOperation(whole), whole, cloud);
      return { status: response.status, headers: response.headers, body: JSON.parse(response.body) };
    },
  };
}
