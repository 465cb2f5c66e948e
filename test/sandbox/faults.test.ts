import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CreateBucketCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { afterAll, describe, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { createFaults, faultKinds, loadFaults, parseFaults } from '../../sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { never, type TestCallerOptions, testCaller } from '../support/caller.js';
import { uploadArguments as list } from '../support/sandbox.js';

const faultsOf = (text: string) => createFaults(parseFaults(text), () => 0.5);

const restore = { backupId: seededBackupId, instanceId: 'restored', allowRepeat: true };
const now = () => new Date('2026-11-20T12:00:00Z');

const started: Sandbox[] = [];
afterAll(() => Promise.all(started.map((sandbox) => sandbox.close())));

/** A sandbox that fails, and what calls it, with limits of its own if it is to have little patience. */
async function startFaulty(fault: string) {
  const sandbox = await startSandbox({ now, fault });
  started.push(sandbox);
  return async (operation: Operation, args: object, limits: NonNullable<TestCallerOptions['limits']> = {}) => {
    const caller = testCaller('', { cloud: sandbox.cloud, now, limits, maximumAttempts: 4 });
    const result = await caller.call(operation, args, { signal: never });
    await caller.close();
    return { ...result, requests: caller.logged.filter(({ event }) => event === 'attempt').length };
  };
}

interface Told {
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly requests: number;
  readonly says?: string;
}
const ok = (requests: number, says = ''): Told => ({ outcome: 'ok', requests, says });
const failed = (requests: number, says = ''): Told => ({ outcome: 'failed', requests, says });
const unknown = (says = ''): Told => ({ outcome: 'unknown', requests: 1, says });

/**
 * For each fault: the outcome of a change, and `acted` if the sandbox carried it out; or the outcome of a read for faults of lists.
 * test/transport/faults.test.ts tries reads and changes with such faults of a scripted server.
 */
type Row = { readonly fault: string } & ({ readonly read: Told } | { readonly change: Told; readonly acted: boolean });
const rows: readonly Row[] = [
  { fault: 'reset-before-request', change: unknown('ConnectionLost'), acted: false },
  { fault: 'reset-after-request', change: unknown('ConnectionLost'), acted: true },
  { fault: 'hang', change: unknown('ResponseTimeout'), acted: true },
  { fault: 'half-body', change: ok(1, 'its body was lost'), acted: true },
  { fault: 'slow-body:5', change: ok(1), acted: true },
  { fault: 'slow-body:3000', change: ok(1, 'its body was lost'), acted: true },
  { fault: 'empty', change: ok(1, 'it is empty'), acted: true },
  { fault: 'truncated', change: ok(1, 'cut short'), acted: true },
  { fault: 'malformed', change: ok(1, 'looks like JSON, but'), acted: true },
  { fault: 'oversized', change: ok(1, 'ResponseTooLarge'), acted: true },
  { fault: 'oversized:1', change: ok(1), acted: true },
  { fault: 'html', change: unknown('HTML page'), acted: false },
  { fault: 'redirect', change: failed(1, 'Http307'), acted: false },
  { fault: '429', change: failed(4, 'Http429'), acted: false },
  { fault: '429:7*1', change: ok(2, '429 (waited 7000 ms)'), acted: true },
  ...[500, 502, 503, 509].map((status) => ({
    fault: String(status),
    change: unknown(`Http${status}`),
    acted: false,
  })),
  { fault: '504', change: unknown('Http504'), acted: true },
  { fault: '503*3', read: ok(4, '503 (waited') },
  { fault: 'marker-loop', read: ok(2) },
  { fault: 'no-marker', read: ok(2, 'The list may be incomplete') },
  { fault: 'no-marker*1', read: ok(2) },
];

const patience: Readonly<Record<string, NonNullable<TestCallerOptions['limits']>>> = {
  hang: { headersMs: 250 },
  'slow-body:3000': { bodyMs: 250 },
};

describe('a cloud with the fault', () => {
  describe.each(rows)('$fault', (row) => {
    if ('read' in row) {
      test('a read', async () => {
        const call = await startFaulty(`list_parts=${row.fault}`);
        const result = await call(listParts, list);
        expect({ ok: result.ok, requests: result.requests }, result.text).toEqual({
          ok: true,
          requests: row.read.requests,
        });
        expect(result.text).toContain(row.read.says);
        // The answer is the whole upload.
        if (result.ok) expect(result.structured.answer?.partCount).toBe(12);
      });
      return;
    }
    const { fault, change, acted } = row;
    test(`a change, which is ${acted ? 'carried out' : 'not carried out'}`, async () => {
      const times = fault.includes('*') ? '' : `*${change.requests}`;
      const call = await startFaulty(`restore_instance=${fault}${times}`);
      const result = await call(restoreInstance, restore, patience[fault]);
      const outcome = result.ok ? 'ok' : result.text.includes('has an unknown outcome') ? 'unknown' : 'failed';
      expect({ outcome, requests: result.requests }, result.text).toEqual({
        outcome: change.outcome,
        requests: change.requests,
      });
      expect(result.text).toContain(change.says);
      const again = await call(restoreInstance, restore);
      expect(again.text.includes('Client.InvalidParameterDuplicate.Instance'), again.text).toBe(acted);
    });
  });
});

test('the table has every kind', () => {
  expect(new Set(rows.map(({ fault }) => fault.split(/[:*]/, 1)[0]))).toEqual(new Set(faultKinds));
});

test.each([1200, -1200])('a clock that is off by %i s is followed, and the call ends well', async (skew) => {
  const call = await startFaulty(`skew=${skew}`);
  for (const [operation, args] of [
    [listParts, list],
    [restoreInstance, restore],
  ] as const) {
    const result = await call(operation, args);
    expect(result.ok, result.text).toBe(true);
    expect(result.text).toContain('attempts: 403 (waited 0 ms), 200');
  }
});

describe('through an S3 client', () => {
  const connect = async (fault: string) => {
    const sandbox = await startSandbox({ now: () => new Date(), fault });
    started.push(sandbox);
    const { credentials, endpoints } = sandbox.cloud;
    const s3 = new S3Client({ endpoint: endpoints.storage, region: 'jp-east-1', credentials, forcePathStyle: true });
    await s3.send(new CreateBucketCommand({ Bucket: 'faulty' }));
    return { s3, sandbox };
  };
  const large = Buffer.alloc(6 * 1024 * 1024, 'x');
  const to = { Bucket: 'faulty', Key: 'k' };

  test('an upload survives parts that are refused and a completion whose answer is lost', async () => {
    const { s3, sandbox } = await connect('upload_part=503*1,complete_multipart_upload=reset-after-request*1');
    await new Upload({ client: s3, params: { ...to, Body: large } }).done();
    const { ContentLength } = await s3.send(new HeadObjectCommand(to));
    expect(ContentLength).toBe(large.length);
    expect(await sandbox.describe()).toMatch(/upload_part: 503,.*/);
    s3.destroy();
  });
});

describe('the text of faults', () => {
  test('faults of an operation come in their order, each so often, and * stands for every operation', () => {
    const faults = faultsOf('list_parts=503*2, list_parts=truncated*1, *=500:9*1');
    const next = (operation: string) => faults.takeFault(operation)?.kind;
    expect([next('list_parts'), next('list_parts'), next('list_parts'), next('restore_instance')]).toEqual([
      '503',
      '503',
      'truncated',
      '500',
    ]);
    expect([next('list_parts'), next('restore_instance')]).toEqual([undefined, undefined]);
    expect(faultsOf('*=503').takeFault('upload_part')).toMatchObject({ kind: '503' });
    expect(faultsOf('*=503').takeFault('unknown')).toBeUndefined();
  });

  test('faults that need an answer with a body pass over operations that have none', () => {
    const faults = faultsOf('*=truncated*1,*=half-body*1');
    expect(faults.takeFault('upload_part')).toBeUndefined();
    expect(faults.takeFault('get_object')?.kind).toBe('half-body');
    expect(faults.takeFault('complete_multipart_upload')?.kind).toBe('truncated');
  });

  test.each([
    ['restore_instnce=503', 'restore_instnce is not an operation; the nearest is restore_instance.'],
    ['listparts=503', 'listparts is not an operation; the nearest is list_parts.'],
    ['skw=3', 'skw is not an operation; the nearest is skew.'],
    ['list_parts=truncate', 'truncate is not a fault; the nearest is truncated.'],
    ['list_parts=reset-after-requst*2', 'reset-after-requst is not a fault; the nearest is reset-after-request.'],
    ['list_parts=505', '505 is not a fault; the nearest is 50'],
    ['list_parts', 'list_parts is not a fault'],
    ['list_parts=503*', '503* is not a fault: write kind, kind:amount or kind*times, such as 503*3.'],
    ['list_parts=503*0', '503*0 is not a fault'],
    ['restore_instance=marker-loop', 'marker-loop is a fault of list_parts only.'],
    ['*=no-marker', 'no-marker is a fault of list_parts only.'],
    ['upload_part=truncated', 'truncated needs an answer with a body, which upload_part does not have.'],
    ['get_object=malformed', 'malformed needs an answer with a body, which get_object does not have.'],
    ['latency=slow', 'latency must be uniform(from,to), normal(mean,deviation) or p50-p99(median,percentile)'],
    ['latency=uniform(1)', 'latency must be'],
    ['latency=toString(1,2)', 'latency must be'],
    ['skew=soon', 'skew must be a whole number of seconds.'],
    ['{"list_parts":"503"}', 'is not an operation'],
    ['@/nowhere', 'The faults in /nowhere cannot be read.'],
  ])('%s is refused, and no sandbox starts with it', async (text, problem) => {
    expect(() => loadFaults(text)).toThrow(problem);
    await expect(startSandbox({ now, fault: text })).rejects.toThrow(problem);
  });

  test('after @ stands a file', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'cloudops-faults-')), 'faults.txt');
    writeFileSync(file, 'list_parts=503*3\n');
    expect(loadFaults(`@${file}`)).toEqual(parseFaults('list_parts=503*3'));
    writeFileSync(file, 'list_parts=505\n');
    expect(() => loadFaults(`@${file}`)).toThrow('505 is not a fault');
    rmSync(dirname(file), { recursive: true });
  });
});

describe('latency', () => {
  /** 10,000 waits in ascending order, with the random numbers of a textbook. */
  function waits(text: string): number[] {
    const { latency } = parseFaults(`latency=${text}`);
    let state = 1;
    const random = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    return Array.from({ length: 10_000 }, () => latency(random)).sort((a, b) => a - b);
  }
  const at = (sorted: readonly number[], share: number) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN;

  test('uniform', () => {
    const sorted = waits('uniform(10,200)');
    expect(at(sorted, 0)).toBeGreaterThanOrEqual(10);
    expect(at(sorted, 0.9999)).toBeLessThan(200);
    expect(at(sorted, 0.5)).toBeCloseTo(105, -1);
  });
  test('is waited before the answer', async () => {
    const call = await startFaulty('latency=uniform(60,60)');
    const started = performance.now();
    await call(listParts, list);
    // Timers may fire a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(58);
  });
});
