import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { cleanEnv, commandOf, serverPath } from './server-process.js';

/** A command that ran on a terminal of its own, and the lines that stood on the screen. */
export interface Shown {
  readonly code: number | null;
  readonly lines: readonly string[];
  /** The output with colours and other control sequences. */
  readonly raw: string;
}

/** Back to the beginning of the line, which is erased. */
const anew = '\r\x1b[K';

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/**
 * Runs the built server on a real terminal of so many columns, which util-linux's `script` makes.
 * @param typed what a person types once the screen shows a text, in order
 */
export function onTerminal(
  words: readonly string[],
  columns: number,
  {
    env = {},
    typed = [],
  }: { env?: Record<string, string>; typed?: readonly (readonly [after: string, text: string])[] } = {},
): Promise<Shown> {
  const { args, variables } = commandOf(words);
  const command = [process.execPath, serverPath, ...args].map(quoted).join(' ');
  const child = spawn('script', ['-qefc', `stty cols ${columns} rows 50; ${command}`, '/dev/null'], {
    env: cleanEnv({ TERM: 'xterm-256color', ...env, ...variables }),
  });
  const left = [...typed];
  let raw = '';
  child.stdout.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
    const [after, text] = left[0] ?? [];
    if (after === undefined || text === undefined || !raw.includes(after)) return;
    left.shift();
    child.stdin.write(text);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      // Drops lines that were overwritten, such as progress.
      const lines = raw
        .split('\n')
        .map((line) => stripVTControlCharacters(line.split(anew).at(-1) ?? '').replace(/\r+$/, ''));
      resolve({ code, raw, lines });
    });
  });
}
