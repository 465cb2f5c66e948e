import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The built server, as users run it. */
export const serverPath = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Nothing of the tester's own settings reaches the server. */
export const cleanEnv = (extra: Record<string, string> = {}): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('CLOUDOPS_') ? [] : [[name, value]],
    ),
  ),
  // Nothing opens a browser on the tester's desktop.
  CI: 'true',
  XDG_STATE_HOME: stateFolder,
  XDG_CACHE_HOME: stateFolder,
  ...extra,
});

/** Where servers under test keep their journals and compiled code. */
const stateFolder = mkdtempSync(join(tmpdir(), 'cloudops-state-'));
process.on('exit', () => rmSync(stateFolder, { recursive: true, force: true }));

/** The words of a command, as in a shell: `CLOUDOPS_CONFIRM=off` sets a variable, and all others are arguments. */
export function commandOf(words: readonly string[]): { args: string[]; variables: Record<string, string> } {
  const isVariable = (word: string) => /^CLOUDOPS_[A-Z_]+=/.test(word);
  const variables = words.filter(isVariable).map((word) => {
    const [name = ''] = word.split('=', 1);
    return [name, word.slice(name.length + 1)] as const;
  });
  return { args: words.filter((word) => !isVariable(word)), variables: Object.fromEntries(variables) };
}

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From the end of stdin to the end of the process. */
  readonly endedAfterMs: number;
}

/** Runs the server with words as in `commandOf` and with text on stdin, waits until `until` appears on stdout, ends stdin, and waits for the process. */
export function runServer(
  words: readonly string[],
  { env = {}, stdin = '', until = /^/ }: { env?: Record<string, string>; stdin?: string; until?: RegExp } = {},
): Promise<Run> {
  const { args, variables } = commandOf(words);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [serverPath, ...args], { env: cleanEnv({ ...env, ...variables }) });
    let stdout = '';
    let stderr = '';
    let ended = Date.now();
    let ending = false;
    const endWhenSeen = () => {
      if (ending || !until.test(stdout)) return;
      ending = true;
      ended = Date.now();
      child.stdin.end();
    };
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      endWhenSeen();
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr, endedAfterMs: Date.now() - ended }));
    child.stdin.on('error', () => undefined);
    child.stdin.write(stdin);
    endWhenSeen();
  });
}
