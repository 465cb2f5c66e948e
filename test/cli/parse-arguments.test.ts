import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type Arguments, parseArguments } from '../../src/cli/parse-arguments.js';

/** Read for a command like `call`. */
const parse = (...args: string[]) =>
  parseArguments(args, { positionals: 2, options: { json: 'switch', since: 'value' } });

test.each<[string[], Partial<Arguments>]>([
  [[], { positionals: [], options: {}, wants: undefined, problems: [] }],
  [['a', '--json', '--since', '24h', '-'], { positionals: ['a', '-'], options: { json: '1', since: '24h' } }],
  [['--since=24h'], { options: { since: '24h' } }],
  [['--since', 'a', '--since', 'b'], { options: { since: 'b' } }],
  [['--sandbox', 'a'], { options: { sandbox: '1' }, positionals: ['a'] }],
  [['--', '--since', '-x'], { positionals: ['--since', '-x'], options: {} }],
  [['--help'], { wants: 'help' }],
  [['a', '--json', '-h'], { wants: 'help' }],
  [['--version'], { wants: 'version' }],
  [['-v'], { wants: 'version' }],
])('%j', (args, expected) => {
  expect(parse(...args)).toMatchObject(expected);
});

describe('a command line that goes wrong neither swallows an option nor shows or uses a value', () => {
  /** Each with what its problems are about, in turn. */
  const mistakes: readonly (readonly [args: readonly string[], about: readonly string[]])[] = [
    [['--region', 'MARKER'], ['--region']],
    [['--read-only'], ['--read-only']],
    [['--secret-access-key', 'MARKER'], ['--secret-access-key']],
    [['--secret-access-key-file=MARKER'], ['--secret-access-key-file']],
    [['--secret-acess-key', 'MARKER'], ['--secret-acess-key']],
    [['-secret-access-key', 'MARKER'], ['-secret-access-key']],
    [['--jsn', 'MARKER'], ['--jsn']],
    [['-xyz'], ['-xyz']],
    [['--json=MARKER'], ['--json']],
    [['a', 'b', 'MARKER'], ['one argument too many']],
    [
      ['--jsn', '--sinc'],
      ['--jsn', '--sinc'],
    ],
    [['--since'], ['--since']],
    [['--since='], ['--since']],
    [['--since', '--json'], ['--since']],
  ];

  test.each(mistakes)('%j', (args, about) => {
    const { problems, positionals } = parse(...args);
    expect(problems).toEqual(about.map((name) => expect.stringContaining(name)));
    expect([...problems, ...positionals].join()).not.toContain('MARKER');
  });

  test('is reported as reviewed', async () => {
    const shown = mistakes.map(([args]) => `# ${args.join(' ')}\n${parse(...args).problems.join('\n')}\n`);
    const golden = fileURLToPath(new URL('golden/parse-arguments.txt', import.meta.url));
    await expect(shown.join('\n')).toMatchFileSnapshot(golden);
  });
});
