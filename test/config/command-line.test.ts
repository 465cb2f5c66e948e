import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type CommandLine, parseCommandLine } from '../../src/config/command-line.js';

/** Read for a command like `call`. */
const parse = (...args: string[]) =>
  parseCommandLine(args, { positionals: 2, options: { json: 'switch', since: 'value' } });

test.each<[string[], Partial<CommandLine>]>([
  [[], { positionals: [], options: {}, settings: {}, wants: undefined, problems: [] }],
  [['--region', 'jp-west-2'], { settings: { REGION: 'jp-west-2' } }],
  [['--region=jp-west-2'], { settings: { REGION: 'jp-west-2' } }],
  [['--region', 'a', '--region', 'b'], { settings: { REGION: 'b' } }],
  [
    ['--read-only', 'a', '--allow-http=off', 'b'],
    { settings: { READ_ONLY: '1', ALLOW_HTTP: 'off' }, positionals: ['a', 'b'] },
  ],
  [['--state-key-file', 'k'], { settings: { STATE_KEY_FILE: 'k' } }],
  [['a', '--json', '--since', '24h', '-'], { positionals: ['a', '-'], options: { json: '1', since: '24h' } }],
  [['--', '--region', '-x'], { positionals: ['--region', '-x'], settings: {} }],
  [['--help'], { wants: 'help' }],
  [['a', '--region', '-h'], { wants: 'help' }],
  [['--version'], { wants: 'version' }],
  [['-v'], { wants: 'version' }],
])('%j', (args, expected) => {
  expect(parse(...args)).toMatchObject(expected);
});

describe('a command line that goes wrong neither swallows an option nor shows or uses a value', () => {
  /** Each with what its problems are about, in turn. */
  const mistakes: readonly (readonly [args: readonly string[], about: readonly string[]])[] = [
    [['--secret-acess-key', 'MARKER'], ['--secret-acess-key']],
    [['--secret-acess-key=MARKER'], ['--secret-acess-key']],
    [['--secret-acess-key', '-MARKER'], ['--secret-acess-key']],
    [['-secret-access-key', 'MARKER'], ['-secret-access-key']],
    [['--secret-access-key', '-MARKER'], ['--secret-access-key']],
    [['--jsn', 'MARKER'], ['--jsn']],
    [['-xyz'], ['-xyz']],
    [['a', 'b', 'MARKER'], ['one argument too many']],
    [['--access-key-id', '--read-only'], ['--access-key-id']],
    [
      ['--access-key-id', '--raed-only'],
      ['--access-key-id', '--raed-only'],
    ],
    [['--region'], ['--region']],
    [['--region='], ['--region']],
    [['--since'], ['--since']],
    [['--since', '--json'], ['--since']],
  ];

  test.each(mistakes)('%j', (args, about) => {
    const line = parse(...args);
    expect(line.problems).toEqual(about.map((name) => expect.stringContaining(name)));
    expect(JSON.stringify({ ...line, positionals: line.positionals.slice(0, 2) })).not.toContain('MARKER');
  });

  test('is reported as reviewed', async () => {
    const shown = mistakes.map(([args]) => `# ${args.join(' ')}\n${parse(...args).problems.join('\n')}\n`);
    const golden = fileURLToPath(new URL('golden/command-line.txt', import.meta.url));
    await expect(shown.join('\n')).toMatchFileSnapshot(golden);
  });

  test('what follows is still read', () => {
    expect(parse('--access-key-id', '--read-only').settings).toEqual({ READ_ONLY: '1' });
    expect(parse('--sesion-token', 'MARKER', 'list_parts').positionals).toEqual(['list_parts']);
  });
});
