import { getEventListeners } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runProgram } from '../../src/signing/program-keys.js';
import { words } from '../../src/util/safe-text.js';
import { isAlive } from '../support/is-alive.js';

/** A program that prints keys is run without a shell and within limits, and nothing of what it prints is told. */

const { signal } = new AbortController();
/** What a run of the program gives: its output, or the words after its name in the error. */
const run = (command: readonly string[], options: Parameters<typeof runProgram>[2], limitMs?: number) =>
  runProgram({ name: words('The program'), remedy: words('Run it by hand.') }, command, options, limitMs).then(
    (stdout) => ({ kind: 'ended', stdout }),
    ({ message }: Error) => ({ kind: 'failed', problem: message.replace(/^The program /, '') }),
  );
const node = (code: string, ...args: string[]) => [process.execPath, '-e', code, ...args];

test('gets its arguments as they are, without a shell, and the variables that it is given', async () => {
  const code = 'console.log(JSON.stringify([process.argv.slice(1), process.env.GIVEN]))';
  const result = await run(node(code, '$HOME "a b" ; exit 1'), { env: { GIVEN: 'yes' }, stop: signal });
  expect(result).toEqual({ kind: 'ended', stdout: '[["$HOME \\"a b\\" ; exit 1"],"yes"]\n' });
});

test.each<readonly [string, readonly string[], string]>([
  ['fails', node('console.error("MARKER"); console.log("MARKER"); process.exit(3)'), 'ended with exit code 3'],
  ['does not exist', ['/nowhere/MARKER'], 'cannot be started (ENOENT)'],
  ['has no name', [], 'cannot be started'],
  ['has no name that any system takes', ['\0'], 'cannot be started'],
  ['prints without end', node('for (;;) process.stdout.write("MARKER".repeat(1000))'), 'printed more than 64 KiB'],
  ['is killed', node('process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)'), 'was ended by SIGTERM'],
])('%s: its exit is told, and none of its output', async (_what, command, problem) => {
  expect(await run(command, { env: {}, stop: signal })).toEqual({ kind: 'failed', problem });
});

test('may print 64 KiB, complain without end, and finds nothing to read', async () => {
  const code = `
    process.stderr.write('MARKER'.repeat(100_000));
    process.stdin.resume().on('end', () => process.stdout.write('x'.repeat(64 * 1024)));`;
  expect(await run(node(code), { env: {}, stop: signal })).toEqual({
    kind: 'ended',
    stdout: 'x'.repeat(64 * 1024),
  });
});

describe('is killed with all that it started', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-program-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const pidFile = () => join(folder, 'pid');
  /** A program that starts another, which keeps the output open and does not end when it is asked to. */
  const starting = (then: string) =>
    node(
      `const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      require('node:fs').writeFileSync(process.argv[1], String(pid));
      ${then}`,
      pidFile(),
    );
  const expectEnd = () => expect.poll(() => isAlive(Number(readFileSync(pidFile(), 'utf8')))).toBe(false);

  test.each([
    ['waits for what it started', 'setInterval(() => {}, 1000)'],
    ['leaves it behind with its output, and fails', 'process.exit(3)', 'ended with exit code 3', 60_000],
  ])('if it %s', async (_what, then, problem = 'did not end within 4 seconds', limitMs = 4_000) => {
    const result = await run(starting(then), { env: {}, stop: signal }, limitMs);
    expect(result).toEqual({ kind: 'failed', problem });
    await expectEnd();
  });

  test('if it leaves it behind with its output, and what it printed counts', async () => {
    const program = starting('console.log("keys"); process.exitCode = 0; process.exit()');
    const result = await run(program, { env: {}, stop: signal }, 60_000);
    expect(result).toEqual({ kind: 'ended', stdout: 'keys\n' });
    await expectEnd();
  });

  test.skipIf(process.platform === 'win32')(
    'except what left its process group, which nobody waits for and whose output is closed',
    async () => {
      const code = `
        const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => console.log("late"), 100)'], { stdio: 'inherit', detached: true });
        require('node:fs').writeFileSync(process.argv[1], String(pid));
        console.log('keys'); process.exit()`;
      const result = await run(node(code, pidFile()), { env: {}, stop: signal }, 60_000);
      // At the limit it would have failed.
      expect(result).toMatchObject({ kind: 'ended', stdout: expect.stringMatching(/^(keys|late)\n/) });
      // Writing into a closed pipe ends it.
      await expectEnd();
    },
  );

  test('when this process exits; when it has ended, nothing listens any more', async () => {
    const stop = new AbortController();
    const before = process.listeners('exit');
    const listening = () => process.listeners('exit').filter((listener) => !before.includes(listener));
    const result = run(node('setInterval(() => {}, 1000)'), { env: {}, stop: stop.signal });
    expect(listening()).toHaveLength(1);
    for (const listener of listening()) listener(0);
    expect(await result).toEqual({ kind: 'failed', problem: 'was ended by SIGKILL' });
    expect([...listening(), ...getEventListeners(stop.signal, 'abort')]).toEqual([]);
  });

  test('when nobody waits for it any more; then none is started', async () => {
    const stop = new AbortController();
    const start = () => run(starting('setInterval(() => {}, 1000)'), { env: {}, stop: stop.signal });
    const result = start();
    await expect.poll(() => existsSync(pidFile()) && readFileSync(pidFile(), 'utf8')).toBeTruthy();
    stop.abort();
    const stopped = { kind: 'failed', problem: 'was stopped, because this server ends' };
    expect(await result).toEqual(stopped);
    await expectEnd();
    rmSync(pidFile());
    expect(await start()).toEqual(stopped);
    expect(existsSync(pidFile())).toBe(false);
  });
});
