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
