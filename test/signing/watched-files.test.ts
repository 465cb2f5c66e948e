import { expect, test } from 'vitest';
import { KeysUnavailable } from '../../src/signing/keys.js';
import { watchFiles } from '../../src/signing/watched-files.js';

/** Files are read again when they have changed, and only once all of them have been still for a second. */

function setUp(initial: string | undefined = undefined) {
  let time = 1_000_000;
  /** Content of each file by path, and when it was written. */
  const files = new Map<string, { text: string; at: number }>();
  const write = (path: string, text: string) => files.set(path, { text, at: time });
  write('/id', 'old');
  write('/secret', 'old');
  time += 60_000;
  const reads: string[] = [];
  const read = async () => {
    const [id = '', secret = ''] = ['/id', '/secret'].map((path) => files.get(path)?.text);
    reads.push(`${id}/${secret}`);
    if (id === '' || secret === '') throw new KeysUnavailable('a file of keys is empty');
    return `${id}/${secret}`;
  };
  const watched = watchFiles({
    paths: ['/id', '/secret'],
    initial,
    read,
    stat: async (path) => {
      const file = files.get(path);
      if (file === undefined) throw new Error('ENOENT');
      const { text, at } = file;
      return { dev: 1, ino: at, size: text.length, mtimeMs: at, ctimeMs: at };
    },
    now: () => new Date(time),
    sleep: async (milliseconds) => {
      time += milliseconds;
    },
    log: () => undefined,
  });
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { watched, write, remove: (path: string) => files.delete(path), pass, reads };
}

test('files that do not change are read once', async () => {
  const { watched, pass, reads } = setUp();
  for (let call = 0; call < 5; call += 1) {
    expect(await watched.current()).toBe('old/old');
    pass(10_000);
  }
  expect(reads).toEqual(['old/old']);
});

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
  expect(await watched.settled()).toBe('new/new');
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

test('without a value there is a reason, until the files make sense', async () => {
  const { watched, write } = setUp();
  write('/id', '');
  await expect(watched.current()).rejects.toThrow('a file of keys is empty');
  write('/id', 'id');
  expect(await watched.current()).toBe('id/old');
});

test('many calls at once read once', async () => {
  const { watched, reads } = setUp();
  const values = await Promise.all(Array.from({ length: 16 }, () => watched.current()));
  expect(new Set(values)).toEqual(new Set(['old/old']));
  expect(reads).toHaveLength(1);
});
