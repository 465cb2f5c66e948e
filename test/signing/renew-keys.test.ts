import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type KeyOrigin, KeysUnavailable } from '../../src/signing/keys.js';
import { renewKeys } from '../../src/signing/renew-keys.js';
import { words } from '../../src/util/safe-text.js';

/** Keys are read again when their files have changed, when they are about to expire, and when they were refused. */

const pairOf = (accessKeyId: string, secretAccessKey: string) => ({ accessKeyId, secretAccessKey });

/** Keys in two files, written as `id/secret`. */
function setUp(initial: string | undefined = undefined, { whileRead = () => {}, whileAsleep = () => {} } = {}) {
  let time = 1_000_000;
  let sleeps = 0;
  /** Content of each file by path, when it was put there, and the time that it says it was written. */
  const files = new Map<string, { text: string; at: number; writtenAt: number }>();
  const write = (path: string, text: string, writtenAt = time) => files.set(path, { text, at: time, writtenAt });
  const logged: unknown[] = [];
  write('/id', 'old');
  write('/secret', 'old');
  time += 60_000;
  const reads: string[] = [];
  const findOrigin = async (): Promise<KeyOrigin> => {
    const [id = '', secret = ''] = ['/id', '/secret'].map((path) => files.get(path)?.text);
    reads.push(`${id}/${secret}`);
    whileRead();
    const [name, remedy] = [words('a file of keys'), words('Write the key.')];
    if (id === '' || secret === '') throw new KeysUnavailable(words('a file of keys is empty'), remedy);
    const read = async () => ({ credentials: pairOf(id, secret), expiresAt: undefined });
    return { name, remedy, pauseMs: 0, read };
  };
  const [id = '', secret = ''] = initial?.split('/') ?? [];
  const first = initial === undefined ? undefined : { credentials: pairOf(id, secret), expiresAt: undefined };
  const keys = renewKeys(
    { id: 'files', paths: ['/id', '/secret'], initial: first, findOrigin },
    {
      env: {},
      stop: new AbortController().signal,
      stat: async (path) => {
        const file = files.get(path);
        if (file === undefined) throw new Error('ENOENT');
        const { text, at, writtenAt } = file;
        return { dev: 1, ino: at, size: text.length, mtimeMs: writtenAt, ctimeMs: at };
      },
      now: () => new Date(time),
      sleep: async (milliseconds) => {
        time += milliseconds;
        sleeps += 1;
        whileAsleep();
      },
      log: (level, event, fields) => logged.push([level, event, fields]),
    },
  );
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  const textOf = (found: ReturnType<typeof pairOf> | undefined) => found && Object.values(found).join('/');
  const watched = {
    current: async () => textOf(await keys.current()),
    renewed: async () => textOf(await keys.renewed(pairOf('old', 'old'))),
  };
  return { watched, write, remove: (path: string) => files.delete(path), pass, reads, logged, sleeps: () => sleeps };
}

test('files that change one after the other are read together, a second after the last of them', async () => {
  const { watched, write, pass, reads } = setUp('old/old');
  write('/id', 'new');
  pass(900);
  expect(await watched.current()).toBe('old/old');
  write('/secret', 'new');
  pass(999);
  expect(await watched.current()).toBe('old/old');
  pass(1);
  expect(await watched.current()).toBe('new/new');
  expect(reads).toEqual(['new/new']);
});

test('a file that is half written, empty or gone leaves the value as it is', async () => {
  const { watched, write, remove, pass } = setUp('old/old');
  write('/id', '');
  pass(5000);
  expect(await watched.current()).toBe('old/old');
  remove('/secret');
  pass(5000);
  expect(await watched.current()).toBe('old/old');
  write('/id', 'new');
  write('/secret', 'new');
  pass(1000);
  expect(await watched.current()).toBe('new/new');
});

test('a call whose keys were refused waits for files that are changing', async () => {
  const { watched, write, pass } = setUp('old/old');
  write('/id', 'new');
  pass(100);
  write('/secret', 'new');
  expect(await watched.renewed()).toBe('new/new');
});

test('times of another clock do not keep files from being read', async () => {
  const { watched, write, pass } = setUp('old/old');
  pass(3_600_000);
  write('/id', 'new');
  write('/secret', 'new');
  pass(-3_600_000);
  expect(await watched.current()).toBe('old/old');
  pass(1000);
  expect(await watched.current()).toBe('new/new');
});

test('a file that was moved there is as new as that, whatever it says', async () => {
  const { watched, write, pass } = setUp('old/old');
  write('/id', 'new', 1000);
  pass(999);
  expect(await watched.current()).toBe('old/old');
  pass(1);
  expect(await watched.current()).toBe('new/old');
});

test('files that change while they are read are read again', async () => {
  let changes = 1;
  const { watched, write, pass, reads, logged } = setUp(undefined, {
    whileRead: () => {
      if (changes > 0) write('/id', 'new');
      changes -= 1;
    },
  });
  await expect(watched.current()).rejects.toThrow('a file was written while it was read');
  pass(1000);
  expect(await watched.current()).toBe('new/old');
  expect(reads).toEqual(['old/old', 'new/old']);
  expect(logged).toEqual([['info', 'keys', { key: 'new', expires: undefined }]]);
});

test('without a value, each call tries again, and the log says why', async () => {
  let isReadable = false;
  const { watched, logged } = setUp(undefined, {
    whileRead: () => {
      if (!isReadable) throw Object.assign(new Error('/secret/path'), { code: 'EACCES' });
    },
  });
  await expect(watched.current()).rejects.toThrow(
    'a file of keys cannot be read (EACCES: the user that cloudops-mcp runs as may not read it)',
  );
  expect(logged).toEqual([
    [
      'error',
      'keys',
      {
        problem: 'a file of keys cannot be read (EACCES: the user that cloudops-mcp runs as may not read it)',
        files: ['/id', '/secret'],
      },
    ],
  ]);
  isReadable = true;
  expect(await watched.current()).toBe('old/old');
});

describe('a call whose keys were refused', () => {
  test('reads files again that seem unchanged', async () => {
    const { watched, reads } = setUp();
    await watched.current();
    expect(await watched.renewed()).toBeUndefined();
    expect(reads).toEqual(['old/old', 'old/old']);
  });

  test('waits five seconds at most', async () => {
    const { watched, write, sleeps } = setUp('old/old', { whileAsleep: () => write('/id', 'new') });
    write('/id', 'new');
    expect(await watched.renewed()).toBeUndefined();
    expect(sleeps()).toBe(20);
  });
});

/** Keys of a program that expire an hour after each run. The program may run once a minute. */
describe('temporary keys', () => {
  const [minuteMs, hourMs] = [60_000, 3_600_000];
  function setUpProgram({ lifetimeMs = hourMs } = {}) {
    let time = 1_000_000_000;
    let runs = 0;
    let isBroken = false;
    const logged: unknown[] = [];
    const remedy = words('Run the program by hand.');
    const read = async () => {
      runs += 1;
      if (isBroken) throw new KeysUnavailable(words('the program is broken'), remedy);
      return { credentials: pairOf(`AK${runs}`, 's'), expiresAt: new Date(time + lifetimeMs) };
    };
    const keys = renewKeys(
      {
        id: 'program',
        paths: [],
        findOrigin: async () => ({ name: words('the program'), remedy, pauseMs: minuteMs, read }),
      },
      {
        env: {},
        stop: new AbortController().signal,
        stat: () => Promise.reject(new Error('there are no files')),
        now: () => new Date(time),
        sleep: () => Promise.reject(new Error('there is nothing to wait for')),
        log: (level, _event, fields) => logged.push([level, fields]),
      },
    );
    const current = async () => {
      const { accessKeyId } = await keys.current();
      // A renewal in the background.
      await nextTurn();
      return accessKeyId;
    };
    return {
      current,
      renewed: async (refused: string) => (await keys.renewed(pairOf(refused, 's')))?.accessKeyId,
      origin: keys.origin,
      pass: (milliseconds: number) => {
        time += milliseconds;
      },
      breakProgram: (broken = true) => {
        isBroken = broken;
      },
      runs: () => runs,
      logged,
    };
  }

  test('are renewed in the background from five minutes before their end', async () => {
    const { current, pass, runs } = setUpProgram();
    expect(await current()).toBe('AK1');
    pass(55 * minuteMs);
    expect([await current(), await current()]).toEqual(['AK1', 'AK1']);
    expect(runs()).toBe(1);
    pass(1);
    expect([await current(), await current()]).toEqual(['AK1', 'AK2']);
    expect(runs()).toBe(2);
  });

  test('are used to their end if they cannot be renewed, and the program is asked once a minute', async () => {
    const { current, pass, breakProgram, runs, logged } = setUpProgram();
    await current();
    logged.length = 0;
    pass(56 * minuteMs);
    breakProgram();
    expect([await current(), await current()]).toEqual(['AK1', 'AK1']);
    expect([runs(), logged]).toEqual([2, [['error', { problem: 'the program is broken' }]]]);
    pass(minuteMs - 1);
    await current();
    expect(runs()).toBe(2);
    pass(1);
    await current();
    expect(runs()).toBe(3);
  });

  test('are refused from their end on, until the program gives others', async () => {
    const { current, pass, breakProgram, runs } = setUpProgram();
    await current();
    breakProgram();
    pass(hourMs - 1);
    expect(await current()).toBe('AK1');
    pass(1);
    await expect(current()).rejects.toThrow('the program is broken');
    expect(runs()).toBe(2);
    breakProgram(false);
    pass(minuteMs);
    expect(await current()).toBe('AK3');
  });

  test('are asked for at once if the clock was set back', async () => {
    const { current, pass, breakProgram, runs } = setUpProgram({ lifetimeMs: 0 });
    await expect(current()).rejects.toThrow('the program gave keys that have expired');
    breakProgram();
    pass(-hourMs);
    await expect(current()).rejects.toThrow('the program is broken');
    expect(runs()).toBe(2);
  });

  test('are read once for calls at the same time', async () => {
    const { current, runs } = setUpProgram();
    expect(await Promise.all([current(), current(), current()])).toEqual(['AK1', 'AK1', 'AK1']);
    expect(runs()).toBe(1);
  });

  test('after a refusal, are others if the program gives others, and it is not asked again within a minute', async () => {
    const { current, renewed, pass, runs } = setUpProgram();
    await current();
    expect(await renewed('AK1')).toBeUndefined();
    pass(minuteMs);
    expect(await renewed('AK1')).toBe('AK2');
    expect(await renewed('AK1')).toBe('AK2');
    expect(runs()).toBe(2);
  });

  test('after a refusal, are none if those that are left have expired', async () => {
    const { current, renewed, pass, breakProgram } = setUpProgram();
    await current();
    breakProgram();
    pass(hourMs);
    expect(await renewed('another')).toBeUndefined();
  });

  test('name their origin, and without keys, too', async () => {
    const { origin, breakProgram } = setUpProgram();
    breakProgram();
    expect((await origin()).name.text).toBe('the program');
  });
});
