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
  const tooMany = 'There is one argument too many: the command comes first, and options begin with --.';
  test.each<[string[], string[]]>([
    [['--secret-acess-key', 'MARKER'], ['--secret-acess-key is not an option; did you mean --secret-access-key?']],
    [['--secret-acess-key=MARKER'], ['--secret-acess-key is not an option; did you mean --secret-access-key?']],
    [['--secret-acess-key', '-MARKER'], ['--secret-acess-key is not an option; did you mean --secret-access-key?']],
    [['-secret-access-key', 'MARKER'], ['-secret-access-key is not an option; did you mean --secret-access-key?']],
    [['--secret-access-key', '-MARKER'], [expect.stringMatching(/^--secret-access-key would show the secret/)]],
    [['--jsn', 'MARKER'], ['--jsn is not an option; did you mean --json?']],
    [['-xyz'], ['-xyz is not an option; --help lists them all']],
    [['a', 'b', 'MARKER'], [tooMany]],
    [['--access-key-id', '--read-only'], ['--access-key-id needs a value.']],
    [
      ['--access-key-id', '--raed-only'],
      ['--access-key-id needs a value.', '--raed-only is not an option; did you mean --read-only?'],
    ],
    [['--region'], ['--region needs a value.']],
    [['--region='], ['--region needs a value.']],
    [['--since'], ['--since needs a value.']],
    [['--since', '--json'], ['--since needs a value.']],
  ])('%j', (args, problems) => {
    const line = parse(...args);
    expect(line.problems).toEqual(problems);
    expect(JSON.stringify({ ...line, positionals: line.positionals.slice(0, 2) })).not.toContain('MARKER');
  });

  test('what follows is still read', () => {
    expect(parse('--access-key-id', '--read-only').settings).toEqual({ READ_ONLY: '1' });
    expect(parse('--sesion-token', 'MARKER', 'list_parts').positionals).toEqual(['list_parts']);
  });
});
