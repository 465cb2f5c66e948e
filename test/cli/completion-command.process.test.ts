// cspell:words COMPREPLY CWORD compinit
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanEnv, runServer } from '../support/server-process.js';

/** Real shells complete with the printed scripts. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (shell: string) => join(folder, `cloudops-mcp.${shell}`);
beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(file(shell), (await runServer(['completion', shell], { env: {} })).stdout);
});

const isInstalled = (shell: string) => {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const cases: readonly [words: readonly string[], has: readonly string[], lacks: readonly string[]][] = [
  [['jour'], ['journal'], ['help', '--help']],
  [['call', 'list_'], ['list_parts', 'list_multipart_uploads'], ['restore_instance']],
  [['call', 'list_parts', '--a'], ['--account', '--all'], ['--plan']],
  [['help', 'sett'], ['settings'], []],
  [['client-config', 'clau'], ['claude-code', 'claude-desktop'], []],
  [
    ['operations', '--'],
    ['--json', '--region'],
    ['--inside', '--secret-access-key'],
  ],
];

describe.each(cases)('%j', (words, has, lacks) => {
  const check = (found: readonly string[]) => {
    expect(found).toEqual(expect.arrayContaining([...has]));
    for (const word of lacks) expect(found).not.toContain(word);
  };

  test('in bash', () => {
    const line = ['cloudops-mcp', ...words].map((word) => `'${word}'`).join(' ');
    const script = `source ${file('bash')}; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _cloudops_mcp; printf '%s\\n' "\${COMPREPLY[@]}"`;
    check(execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n'));
  });

  test.skipIf(!isInstalled('fish'))('in fish', () => {
    const script = `source ${file('fish')}; complete -C 'cloudops-mcp ${words.join(' ')}'`;
    const lines = execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' }).split('\n');
    check(lines.map((line) => line.split('\t')[0] ?? ''));
  });
});

/** Types into a shell on a terminal, and resolves when its screen shows a text. */
function shows(shell: readonly string[], typed: readonly string[], text: string): Promise<void> {
  const child = spawn('script', ['-qefc', `stty cols 200; ${shell.join(' ')}`, '/dev/null'], {
    env: cleanEnv({ TERM: 'dumb', HOME: folder }),
  });
  return new Promise((resolve, reject) => {
    let screen = '';
    const left = [...typed];
    child.on('error', reject);
    child.on('close', () => reject(new Error(`not shown: ${screen}`)));
    child.stdout.on('data', (chunk: Buffer) => {
      screen += chunk.toString();
      if (screen.includes(text)) {
        resolve();
        child.kill('SIGHUP');
        return;
      }
      // The shell waits for input when its prompt is the end of the screen.
      if (/[#$>%] *$/.test(stripVTControlCharacters(screen))) child.stdin.write(left.shift() ?? '');
    });
  });
}

test('the Tab key completes at the prompt of bash', () =>
  shows(
    ['bash', '--norc', '--noprofile', '-i'],
    [`source ${file('bash')}\n`, 'cloudops-mcp call restore_\t'],
    'call restore_instance',
  ));

test.skipIf(!isInstalled('zsh'))('the Tab key completes at the prompt of zsh', () =>
  shows(
    ['zsh', '-f', '-i'],
    ['autoload -Uz compinit; compinit -D -u\n', `source ${file('zsh')}\n`, 'cloudops-mcp call restore_\t'],
    'call restore_instance',
  ),
);
