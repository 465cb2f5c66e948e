import { describe, expect, test } from 'vitest';
import { createProcessKeys } from '../../src/signing/process-keys.js';
import type { ProgramResult } from '../../src/signing/run-program.js';
import { words } from '../../src/util/safe-text.js';

/** Keys that a program prints, as AWS defines it for `credential_process`. */

const start = Date.parse('2026-11-22T12:00:00Z');
const minute = 60_000;

const printed = (id: string, expiresAt?: number) =>
  JSON.stringify({
    Version: 1,
    AccessKeyId: id,
    SecretAccessKey: `secret of ${id}`,
    ...(expiresAt !== undefined && { Expiration: new Date(expiresAt).toISOString() }),
  });
const ended = (stdout: string): ProgramResult => ({ kind: 'ended', stdout });

/** Each result is what one run of the program comes to; the last one is repeated. */
function setUp(...results: readonly ProgramResult[]) {
  let time = start;
  let runs = 0;
  let until: Promise<void> | undefined;
  const logged: unknown[] = [];
  const source = createProcessKeys({
    id: 'process',
    command: ['keys'],
    name: words('CLOUDOPS_CREDENTIAL_PROCESS'),
    run: async () => {
      const result = results[Math.min(runs, results.length - 1)];
      runs += 1;
      await until;
      if (result === undefined) throw new Error('no result');
      return result;
    },
    now: () => new Date(time),
    log: (level, event, fields) => logged.push([level, event, fields]),
  });
  return {
    id: async () => (await source.current()).accessKeyId,
    source,
    logged,
    runs: () => runs,
    /** Lets the program go on until something is over. */
    hold: (time: Promise<void>) => {
      until = time;
    },
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
  };
}

test('one run is enough for many calls', async () => {
  const { id, runs } = setUp(ended(printed('A', start + 60 * minute)));
  expect(new Set(await Promise.all(Array.from({ length: 16 }, id)))).toEqual(new Set(['A']));
  expect(runs()).toBe(1);
});

test('five minutes before the keys expire it runs again, and calls do not wait for it', async () => {
  const { id, runs, pass } = setUp(ended(printed('A', start + 10 * minute)), ended(printed('B', start + 60 * minute)));
  expect(await id()).toBe('A');
  pass(5 * minute);
  expect([await id(), runs()]).toEqual(['A', 1]);
  pass(1);
  expect([await id(), runs()]).toEqual(['A', 2]);
  expect(await id()).toBe('B');
});

test('if it fails, keys that have not expired stay in use, it runs once a minute, and then calls are refused', async () => {
  const failed: ProgramResult = { kind: 'failed', problem: words('ended with exit code 3') };
  const { id, runs, pass } = setUp(ended(printed('A', start + 7 * minute)), failed);
  expect(await id()).toBe('A');
  for (let minutes = 1; minutes < 7; minutes += 1) {
    pass(minute);
    for (let calls = 0; calls < 3; calls += 1) expect(await id()).toBe('A');
  }
  expect(runs()).toBeLessThanOrEqual(6);
  pass(minute);
  await expect(id()).rejects.toThrow('CLOUDOPS_CREDENTIAL_PROCESS ended with exit code 3');
});

test('keys without an expiry are kept until they are refused', async () => {
  const { source, id, runs, pass } = setUp(ended(printed('A')), ended(printed('B')));
  const first = await source.current();
  pass(24 * 60 * minute);
  expect([await id(), runs()]).toEqual(['A', 1]);
  expect(await source.renewed(first)).toMatchObject({ accessKeyId: 'B' });
  // A call that was signed with the old keys meanwhile gets the new ones without another run.
  expect(await source.renewed(first)).toMatchObject({ accessKeyId: 'B' });
  expect(runs()).toBe(2);
  expect(await source.renewed(await source.current())).toBeUndefined();
});

test.each<readonly [string, string]>([
  ['nothing', ''],
  ['no JSON', 'Enter your MARKER:'],
  ['another version', printed('A').replace('1', '2')],
  ['no secret', JSON.stringify({ Version: 1, AccessKeyId: 'A', MARKER: 1 })],
  ['an ID that fits in no header', JSON.stringify({ Version: 1, AccessKeyId: 'A\nB', SecretAccessKey: 'MARKER' })],
  ['an empty session token', JSON.stringify({ ...JSON.parse(printed('MARKER')), SessionToken: '' })],
  ['keys that have expired', printed('MARKER', start)],
  [
    'a time that is none',
    JSON.stringify({ Version: 1, AccessKeyId: 'A', SecretAccessKey: 'MARKER', Expiration: 'soon' }),
  ],
])('it is refused, and not shown, if it prints %s', async (_what, stdout) => {
  const { source, logged } = setUp(ended(stdout));
  const error: unknown = await source.current().catch((reason: unknown) => reason);
  expect(String(error)).toMatch(/CLOUDOPS_CREDENTIAL_PROCESS printed /);
  expect(String(error) + JSON.stringify(logged)).not.toContain('MARKER');
});

test.each<readonly [string, object, object]>([
  ['an ID and a secret', {}, {}],
  ['a session token', { SessionToken: 'a-token-of-it' }, { sessionToken: 'a-token-of-it' }],
  ['no more than null', { SessionToken: null, Expiration: null }, {}],
  ['a time of another zone', { Expiration: '2026-11-22T21:30:00+09:00' }, {}],
])('its keys are taken, and the log has no secret, if it prints %s', async (_what, more, expected) => {
  const { source, logged } = setUp(ended(JSON.stringify({ ...JSON.parse(printed('AKID')), ...more })));
  expect(await source.current()).toStrictEqual({ accessKeyId: 'AKID', secretAccessKey: 'secret of AKID', ...expected });
  const expires = 'Expiration' in more ? (more.Expiration ?? undefined) : undefined;
  expect(logged).toStrictEqual([['info', 'keys', { key: 'AKID', expires }]]);
});

test('a minute after it failed it is run again, not sooner, and the log has each failure', async () => {
  const { id, runs, pass, logged } = setUp(
    { kind: 'failed', problem: words('ended with exit code 3') },
    ended(printed('A')),
  );
  await expect(id()).rejects.toThrow('ended with exit code 3');
  pass(minute - 1);
  await expect(id()).rejects.toThrow('ended with exit code 3');
  expect(runs()).toBe(1);
  expect(logged).toEqual([['error', 'keys', { problem: 'CLOUDOPS_CREDENTIAL_PROCESS ended with exit code 3' }]]);
  pass(1);
  expect(await id()).toBe('A');
});

test('at the end of its keys calls wait for the next ones', async () => {
  const { id, pass } = setUp(ended(printed('A', start + 2 * minute)), ended(printed('B', start + 60 * minute)));
  expect(await id()).toBe('A');
  pass(2 * minute);
  expect(await id()).toBe('B');
});

test('keys that expire within a minute of being printed are refused as expired, whatever failed before', async () => {
  const failed: ProgramResult = { kind: 'failed', problem: words('ended with exit code 3') };
  const { id, pass } = setUp(failed, ended(printed('A', start + minute + 1000)));
  await expect(id()).rejects.toThrow('ended with exit code 3');
  pass(minute);
  expect(await id()).toBe('A');
  pass(1000);
  await expect(id()).rejects.toThrow('CLOUDOPS_CREDENTIAL_PROCESS printed keys that have expired');
});

test('one that takes longer than a minute is not run beside itself', async () => {
  const { id, runs, pass, hold } = setUp(ended(printed('A')));
  let resolve = () => {};
  hold(
    new Promise((done) => {
      resolve = done;
    }),
  );
  const first = id();
  pass(2 * minute);
  const second = id();
  resolve();
  expect([await first, await second, runs()]).toEqual(['A', 'A', 1]);
});

describe('after a refusal', () => {
  const refused = { accessKeyId: 'R', secretAccessKey: 'secret of R' };

  test('keys that nobody has asked for yet are printed, if it can', async () => {
    expect(await setUp(ended(printed('A'))).source.renewed(refused)).toMatchObject({ accessKeyId: 'A' });
    const failed: ProgramResult = { kind: 'failed', problem: words('ended with exit code 3') };
    expect(await setUp(failed).source.renewed(refused)).toBeUndefined();
  });

  test('of keys that have been replaced since, it is not run', async () => {
    const { source, id, runs, pass } = setUp(ended(printed('A')));
    await id();
    pass(10 * minute);
    expect(await source.renewed(refused)).toMatchObject({ accessKeyId: 'A' });
    expect(runs()).toBe(1);
  });
});
