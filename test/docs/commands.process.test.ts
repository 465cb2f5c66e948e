import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { type Newcomer, newcomer } from '../support/newcomer.js';

/**
 * Commands in blocks that are fenced as `console` print what the documentation says they print. every-command.process.test.ts is about
 * all other commands.
 */

const documents = ['README.md', 'CONTRIBUTING.md', ...readdirSync('docs').map((name) => join('docs', name))].filter(
  (name) => name.endsWith('.md'),
);

const fences = (document: string, language: string) =>
  [...readFileSync(document, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, content = '']) => content,
  );

interface Step {
  readonly command: string;
  readonly output: string;
}

/** `$ command`, which goes on where a line ends with a backslash, and what it prints. */
function steps(block: string): Step[] {
  const found: { command: string; output: string }[] = [];
  let continues = false;
  for (const line of block.split('\n')) {
    const last = found.at(-1);
    if (line.startsWith('$ ')) found.push({ command: line.slice(2), output: '' });
    else if (continues && last !== undefined) last.command += `\n${line}`;
    else if (last !== undefined) last.output += `${line}\n`;
    if (line.startsWith('$ ') || continues) continues = line.endsWith('\\');
  }
  return found;
}

const folders: Newcomer[] = [];
afterAll(() => {
  for (const folder of folders) folder.remove();
});

/** What differs from run to run. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/until \d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'until <time>'],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, '<time>'],
  [/^changeId: [\w-]{22}/gm, 'changeId: <id>'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>'],
  [/\bv?2\d\.\d+\.\d+\b/g, '<node>'],
  [/SANDBOX[0-9A-F]{12}/g, '<key>'],
  [/sandbox-\d{6}(-\w)?/g, '<request>'],
  [/\/[^\s"']*\/cloudops-docs-\w+/g, '~'],
  [/\b\d\d:\d\d UTC/g, '<clock>'],
  [/\b\d\d:\d\d to (?=<clock>)/g, '<clock> to '],
  [/\b\d+ to (?=\d+ (ms|s|min)\b)/g, '<duration> to '],
  [/\b\d+(\.\d+)? (ms|s|min)\b/g, '<duration>'],
  [/\b\d+(\.\d+)? KiB\/s/g, '<rate>'],
];
const masked = (text: string) =>
  masks
    .reduce((left, [pattern, name]) => left.replaceAll(pattern, name), text)
    .replace(/[ \t]+$/gm, '')
    .trim();

/** A line of dots in a document stands for lines that are not worth showing. */
function expectPrinted(command: string, printed: string, shown: string): void {
  const parts = shown.split(/^…$/m).map((part) => part.trim());
  let rest = printed;
  for (const [index, part] of parts.entries()) {
    const at = rest.indexOf(part);
    if (at < 0 || (index === 0 && at > 0)) expect(rest, `$ ${command}`).toBe(part);
    rest = rest.slice(at + part.length);
  }
  if (parts.length === 1) expect(rest.trim(), `more output of $ ${command}`).toBe('');
}

describe.each(documents)('%s', (document) => {
  const blocks = fences(document, 'console');
  if (blocks.length > 0)
    test('its commands print what it says', () => {
      const home = newcomer();
      folders.push(home);
      const { folder, env } = home;
      for (const { command, output } of blocks.flatMap(steps)) {
        const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? [];
        if (name !== undefined) {
          env[name] = value;
          continue;
        }
        const run = spawnSync('sh', ['-c', `${command} 2>&1`], { cwd: folder, env, encoding: 'utf8', input: '' });
        expectPrinted(command, masked(run.stdout), masked(output));
      }
    });

  const links = readFileSync(document, 'utf8').match(/https:[^\s)]*[?&]config=[^\s)]+/g) ?? [];
  if (links.length > 0)
    test.each(links)('the link %s installs what it says', (link) => {
      const encoding = link.includes('vscode') ? 'utf8' : 'base64';
      const config = Buffer.from(new URL(link).searchParams.get('config') ?? '', encoding).toString('utf8');
      const installed = { command: 'npx', args: ['-y', packageJson.name], env: { CLOUDOPS_SANDBOX: '1' } };
      expect(JSON.parse(config)).toEqual(installed);
    });

  test('names only npm scripts that exist', () => {
    const named = [...readFileSync(document, 'utf8').matchAll(/npm run ([a-z0-9:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !Object.hasOwn(packageJson.scripts, name))).toEqual([]);
  });
});

test('npm has as few scripts as one can survey', () => {
  expect(Object.keys(packageJson.scripts).length).toBeLessThanOrEqual(20);
});
