import { describe, expect, test } from 'vitest';
import { KeysUnavailable } from '../../src/signing/keys.js';
import { createRenewedValue } from '../../src/signing/renewed-value.js';
import { words } from '../../src/util/safe-text.js';

/** A value is read again when its files have changed, when it is about to expire, and when it was refused. */

/** A value that is made of two files. */
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
  const read = async () => {
    const [id = '', secret = ''] = ['/id', '/secret'].map((path) => files.get(path)?.text);
    reads.push(`${id}/${secret}`);
    whileRead();
    if (id === '' || secret === '')
      throw new KeysUnavailable(words('a file of keys is empty'), words('Write the key.'));
    return `${id}/${secret}`;
  };
  const watched = createRenewedValue({
    paths: ['/id', '/secret'],
    initial,
    read,
    pauseMs: 0,
    describe: () => ({ read: ['/id', '/secret'] }),
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
  });
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { watched, write, remove: (path: string) => files.delete(path), pass, reads, logged, sleeps: () => sleeps };
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
  expect(await watched.renewed((value) => value === 'old/old')).toBe('new/new');
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
  expect(logged).toEqual([['info', 'keys', { read: ['/id', '/secret'] }]]);
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

test('files that say the same as before are no news', async () => {
  const { watched, write, pass, reads, logged } = setUp('old/old');
  await watched.current();
  write('/id', 'old');
  pass(1000);
  expect(await watched.current()).toBe('old/old');
  expect(reads).toHaveLength(2);
  expect(logged).toEqual([]);
});

describe('a call whose keys were refused', () => {
  test('does not wait for files that are still', async () => {
    const { watched, sleeps } = setUp('old/old');
    await watched.renewed((value) => value === 'old/old');
    await watched.renewed((value) => value === 'old/old');
    expect(sleeps()).toBe(0);
  });

  test('waits each time that they change', async () => {
    const { watched, write } = setUp('old/old');
    for (const text of ['one', 'two']) {
      write('/id', text);
      expect(await watched.renewed((value) => value === 'old/old')).toBe(`${text}/old`);
    }
  });

  test('reads files again that seem unchanged', async () => {
    const { watched, reads } = setUp();
    await watched.current();
    expect(await watched.renewed((value) => value === 'old/old')).toBeUndefined();
    expect(reads).toEqual(['old/old', 'old/old']);
  });

  test('waits five seconds at most', async () => {
    const { watched, write, sleeps } = setUp('old/old', { whileAsleep: () => write('/id', 'new') });
    write('/id', 'new');
    expect(await watched.renewed((value) => value === 'old/old')).toBeUndefined();
    expect(sleeps()).toBe(20);
  });
});

describe('a value that expires', () => {
  const start = Date.parse('2026-11-22T12:00:00Z');
  const minute = 60_000;
  type Answer = { readonly id: string; readonly expiresAt?: Date } | KeysUnavailable;
  const until = (id: string, expiresAt: number): Answer => ({ id, expiresAt: new Date(expiresAt) });
  const failed = new KeysUnavailable(words('no keys today'), words('Try again.'));

  /** Each answer is that of one read; the last one is repeated. */
  function setUpExpiring(...answers: readonly Answer[]) {
    let time = start;
    let reads = 0;
    let held: Promise<void> | undefined;
    const logged: unknown[] = [];
    const value = createRenewedValue({
      paths: [],
      read: async () => {
        const answer = answers[Math.min(reads, answers.length - 1)];
        reads += 1;
        await held;
        if (answer === undefined || answer instanceof KeysUnavailable) throw answer;
        return answer;
      },
      pauseMs: minute,
      expiry: {
        of: ({ expiresAt }) => expiresAt,
        error: new KeysUnavailable(words('the keys have expired'), words('Sign in again.')),
      },
      describe: ({ id }) => ({ key: id }),
      stat: () => Promise.reject(new Error('there are no files')),
      now: () => new Date(time),
      sleep: async () => undefined,
      log: (level, event, fields) => logged.push([level, event, fields]),
    });
    return {
      id: async () => (await value.current()).id,
      renewed: async (refused: string) => (await value.renewed(({ id }) => id === refused))?.id,
      logged,
      reads: () => reads,
      /** Lets reads go on until something is over. */
      hold: (over: Promise<void>) => {
        held = over;
      },
      pass: (milliseconds: number) => {
        time += milliseconds;
      },
    };
  }

  test('is read once for many calls', async () => {
    const { id, reads } = setUpExpiring(until('A', start + 60 * minute));
    expect(new Set(await Promise.all(Array.from({ length: 16 }, id)))).toEqual(new Set(['A']));
    expect(reads()).toBe(1);
  });

  test('is read again five minutes before that, and calls do not wait for it', async () => {
    const { id, reads, pass } = setUpExpiring(until('A', start + 10 * minute), until('B', start + 60 * minute));
    expect(await id()).toBe('A');
    pass(5 * minute);
    expect([await id(), reads()]).toEqual(['A', 1]);
    pass(1);
    expect([await id(), reads()]).toEqual(['A', 2]);
    await expect.poll(id).toBe('B');
  });

  test.each<readonly [string, Answer, string]>([
    ['fails', failed, 'no keys today'],
    ['brings one that has expired', until('B', start), 'the keys have expired'],
  ])('stays in use while reading %s, until it has expired', async (_what, answer, problem) => {
    const { id, reads, pass } = setUpExpiring(until('A', start + 7 * minute), answer);
    expect(await id()).toBe('A');
    for (let minutes = 1; minutes < 7; minutes += 1) {
      pass(minute);
      for (let calls = 0; calls < 3; calls += 1) expect(await id()).toBe('A');
    }
    expect(reads()).toBeLessThanOrEqual(6);
    pass(minute);
    await expect(id()).rejects.toThrow(problem);
  });

  test('is awaited after that', async () => {
    const { id, pass } = setUpExpiring(until('A', start + 2 * minute), until('B', start + 60 * minute));
    expect(await id()).toBe('A');
    pass(2 * minute);
    expect(await id()).toBe('B');
  });

  test('is not read again before the pause is over, and the log has each failure', async () => {
    const { id, reads, pass, logged } = setUpExpiring(failed, { id: 'A' });
    await expect(id()).rejects.toThrow('no keys today');
    pass(minute - 1);
    await expect(id()).rejects.toThrow('no keys today');
    expect(reads()).toBe(1);
    expect(logged).toEqual([['error', 'keys', { problem: 'no keys today' }]]);
    pass(1);
    expect(await id()).toBe('A');
    expect(logged[1]).toEqual(['info', 'keys', { key: 'A' }]);
  });

  test('is named as expired if it expires within the pause, whatever failed before', async () => {
    const { id, pass } = setUpExpiring(failed, until('A', start + minute + 1000));
    await expect(id()).rejects.toThrow('no keys today');
    pass(minute);
    expect(await id()).toBe('A');
    pass(1000);
    await expect(id()).rejects.toThrow('the keys have expired');
  });

  test('is not read twice at the same time, however long that takes', async () => {
    const { id, reads, pass, hold } = setUpExpiring({ id: 'A' });
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
    expect([await first, await second, reads()]).toEqual(['A', 'A', 1]);
  });

  test('is kept without an expiry until it is refused', async () => {
    const { id, renewed, reads, pass } = setUpExpiring({ id: 'A' }, { id: 'B' });
    expect(await id()).toBe('A');
    pass(24 * 60 * minute);
    expect([await id(), reads()]).toEqual(['A', 1]);
    expect(await renewed('A')).toBe('B');
    // A call that was refused with the old value meanwhile gets the new one without another read.
    expect([await renewed('A'), reads()]).toEqual(['B', 2]);
    expect(await renewed('B')).toBeUndefined();
  });

  test('that nobody has asked for yet is read after a refusal, if possible', async () => {
    expect(await setUpExpiring({ id: 'A' }).renewed('R')).toBe('A');
    expect(await setUpExpiring(failed).renewed('R')).toBeUndefined();
  });
});
