import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { authenticateByTokensFile, parseTokens, readTokensFile } from '../../src/http/tokens-file.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
/** A line for a caller whose token is its name. */
const line = (name: string, ...scopes: string[]) => [name, sha256(name), ...scopes].join(' ');

describe('a file of tokens', () => {
  test('has a name, a digest and perhaps scopes in a line', () => {
    const text = `# team\n\nalice ${sha256('a')}\r\n  bob ${sha256('b').toUpperCase()} cloudops:read cloudops:audit\n`;
    const { tokens, problems } = parseTokens(text);
    expect(problems).toEqual([]);
    expect(tokens).toMatchObject([
      { name: 'alice', scopes: ['cloudops:read', 'cloudops:write'] },
      { name: 'bob', scopes: ['cloudops:read', 'cloudops:audit'] },
    ]);
  });

  const mistakes: Readonly<Record<string, string>> = {
    'a token in place of its digest': 'alice s3cret',
    'a scope that does not exist': `bob ${sha256('b')} cloudops:all`,
    'a scope that decides beside another': `bob ${sha256('b')} cloudops:approve cloudops:read`,
    'a name twice': `bob ${sha256('b')}\nbob ${sha256('c')}`,
    'a name twice, in other letters': `bob ${sha256('b')}\nBOB ${sha256('c')}`,
    'a token twice': `a ${sha256('b')}\nb ${sha256('b').toUpperCase()}`,
    'a name that is too long': `${'n'.repeat(256)} ${sha256('b')}`,
    nothing: '# nobody\n',
  };

  test.each(Object.entries(mistakes))('with %s is refused, and what it holds is not shown', (_what, text) => {
    const { problems } = parseTokens(text);
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain('s3cret');
  });

  test('is refused in sentences as reviewed', async () => {
    const shown = Object.entries(mistakes).map(
      ([what, text]) => `# ${what}\n${parseTokens(text).problems.join('\n')}\n`,
    );
    const golden = fileURLToPath(new URL('golden/tokens-file.txt', import.meta.url));
    await expect(shown.join('\n')).toMatchFileSnapshot(golden);
  });
});

test('the largest file of tokens is read, and read again, without holding up requests', async () => {
  const lines = Array.from({ length: 14_000 }, (_, number) => line(`n${number}`));
  const [text, mistaken] = [lines.join('\n'), `${lines.join('\n')}\nmistake`];
  let time = 0;
  // Time of this process, because a busy machine takes longer on the wall clock.
  const before = process.cpuUsage();
  const authenticate = authenticateByTokensFile({
    text,
    read: async () => mistaken,
    now: () => new Date(time),
    log: () => undefined,
  });
  time = 1000;
  expect(await authenticate('n13999')).toMatchObject({ kind: 'authenticated' });
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(2000);
});

describe('a file of tokens that changes while the server runs', () => {
  /** A file in memory. `authenticate` reads it again after a second of the test's clock. */
  function start(text: string) {
    let time = 0;
    let contents: string | Error = text;
    const state = { reads: 0, logged: [] as { level: string; fields: unknown }[] };
    const authenticate = authenticateByTokensFile({
      text,
      read: async () => {
        state.reads += 1;
        if (contents instanceof Error) throw contents;
        return contents;
      },
      now: () => new Date(time),
      log: (level, _event, fields) => state.logged.push({ level, fields }),
    });
    return {
      state,
      change: (changed: string | Error) => {
        contents = changed;
        time += 1000;
      },
      wait: (milliseconds: number) => {
        time += milliseconds;
      },
      isReadable: authenticate.isReadable,
      /** Each token with its scopes, or the reason why it is refused. */
      tried: (...tokens: string[]) =>
        Promise.all(
          tokens.map(async (token) => {
            const authentication = await authenticate(token);
            return authentication.kind === 'authenticated' ? authentication.principal.scopes : authentication.kind;
          }),
        ),
    };
  }
  const both = ['cloudops:read', 'cloudops:write'];

  test('tokens that were taken out stop, new ones work, scopes change', async () => {
    const file = start(`${line('a')}\n${line('b')}`);
    expect(await file.tried('a', 'b', 'c')).toEqual([both, both, 'invalid']);
    file.change(`${line('b', 'cloudops:read')}\n${line('c')}`);
    expect(await file.tried('a', 'b', 'c')).toEqual(['invalid', ['cloudops:read'], both]);
  });

  test('it is read at most once a second, however many log in', async () => {
    const file = start(line('a'));
    for (let step = 0; step < 30; step += 1) {
      await file.tried('a', 'x');
      file.wait(100);
    }
    expect(file.state.reads).toBe(2);
  });

  test('with a problem it revokes but grants nothing, says so once, and works again when it is corrected', async () => {
    const file = start([line('a'), line('b'), line('d', 'cloudops:read')].join('\n'));
    const broken = [line('a'), 'b not-a-digest', line('c'), line('d', 'cloudops:read', 'cloudops:write')].join('\n');
    file.change(broken);
    expect(await file.tried('a', 'b', 'c', 'd')).toEqual([both, 'invalid', 'invalid', ['cloudops:read']]);
    file.change(broken);
    expect(await file.tried('a')).toEqual([both]);
    expect(file.state.logged).toMatchObject([{ level: 'error', fields: { problemCount: 1 } }]);
    expect(JSON.stringify(file.state.logged)).not.toContain('not-a-digest');
    file.change(line('c'));
    expect(await file.tried('a', 'b', 'c')).toEqual(['invalid', 'invalid', both]);
  });

  test('with a problem, neither a token under another name nor another token under a name is let in', async () => {
    const file = start(`${line('a')}\n${line('b')}`);
    file.change(`mallory ${sha256('a')}\nb ${sha256('other')}\nbroken`);
    expect(await file.tried('a', 'b', 'other')).toEqual(['invalid', 'invalid', 'invalid']);
  });

  test('while it cannot be read nobody is authenticated, and that is said once', async () => {
    const file = start(line('a'));
    file.change(Object.assign(new Error('EACCES: /secret/path'), { code: 'EACCES' }));
    expect(await file.tried('a', 'x')).toEqual(['unavailable', 'unavailable']);
    file.wait(1000);
    expect(await file.tried('a')).toEqual(['unavailable']);
    expect(file.state.logged).toHaveLength(1);
    expect(JSON.stringify(file.state.logged)).not.toContain('/secret/path');
    file.change(line('a'));
    expect(await file.tried('a')).toEqual([both]);
  });

  test('is known not to be readable, and to be so again, without any login', async () => {
    const file = start(line('a'));
    file.change(Object.assign(new Error(), { code: 'EACCES' }));
    file.isReadable();
    await vi.waitFor(() => expect(file.isReadable()).toBe(false));
    expect([file.state.reads, file.state.logged.length]).toEqual([1, 1]);
    file.change(line('a'));
    file.isReadable();
    await vi.waitFor(() => expect(file.isReadable()).toBe(true));
    file.change('a file with a mistake can be read');
    file.isReadable();
    await vi.waitFor(() => expect(file.state.logged.at(-1)).toMatchObject({ fields: { problemCount: 1 } }));
    expect(file.isReadable()).toBe(true);
  });

  test('what is not a regular file of a sane size is not read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-tokens-'));
    try {
      const path = join(folder, 'tokens');
      writeFileSync(path, line('a'));
      expect(await readTokensFile(path)).toBe(line('a'));
      truncateSync(path, 2 * 1024 * 1024);
      await expect(readTokensFile(path)).rejects.toThrow('it is larger than 1 MiB');
      await expect(readTokensFile('/dev/zero')).rejects.toThrow('not a regular file');
      await expect(readTokensFile(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
