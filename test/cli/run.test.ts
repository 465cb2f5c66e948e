import { describe, expect, test } from 'vitest';
import { commands, parseArguments, runCommandLine } from '../../src/cli/run.js';
import { settingNames, settings, variableName } from '../../src/config/settings.js';
import { operations } from '../../src/tools/index.js';
import { fakeTerminal } from '../support/terminal.js';

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const { terminal, printed } = fakeTerminal({ env, version: '1.2.3' });
  return { code: await runCommandLine(args, terminal), ...printed };
}

describe('help', () => {
  test.each([
    [['--help'], /^An MCP server .*\n/],
    [['-h'], /^An MCP server .*\n/],
    [['help'], /^An MCP server .*\n/],
    [['doctor', '--help'], /^ {2}cloudops-mcp doctor \[--bucket /],
    [['help', 'doctor'], /^ {2}cloudops-mcp doctor \[--bucket /],
    [['help', 'call', 'restore_instance'], /^ {2}cloudops-mcp call restore_instance .*\[--plan\] \[--yes\]/],
    [['client-config', '--help'], /docs\/CLIENTS\.md says where each client takes it/],
    [['journal', '--help'], /journal migrate creates missing tables/],
    [['call', '--help'], /cloudops-mcp call <tool> --help\.\n/],
    [['call', 'list_parts', '--regoin', 'x', '-h'], /^ {2}cloudops-mcp call list_parts /],
  ])('%j prints it, whatever else is given', async (args, said) => {
    const { code, stdout, stderr } = await run(args, { CLOUDOPS_REGOIN: 'x' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(said);
  });

  test.each(Object.keys(commands).filter((name) => name !== 'help'))(
    'of %s has an example that it takes, and its exit codes',
    async (name) => {
      const { stdout } = await run([name, '--help']);
      expect(stdout).toMatch(
        new RegExp(
          `\nExample:\n {2}cloudops-mcp ${name} .*\n\nExit codes:\n {2}0 {2}\\w.*\n {2}1 {2}\\w.*\n {2}2 {2}wrong usage`,
        ),
      );
      const [, example = ''] = /\nExample:\n {2}cloudops-mcp (.*)\n/.exec(stdout) ?? [];
      const command = await commands[name]?.();
      const words = example.split(/ (?![^{]*})/).slice(1);
      expect(parseArguments(words, command ?? {})).toMatchObject({ problems: [] });
    },
  );

  test.each(operations)(
    'of $name has every argument with its rules, and an example',
    async ({ name, input, example }) => {
      const { stdout } = await run(['call', name, '--help']);
      for (const argument of Object.keys(input().shape))
        expect(stdout).toMatch(new RegExp(`^ {2}${argument}\n {6}\\S`, 'm'));
      expect(stdout).toContain(`cloudops-mcp call ${name} '${JSON.stringify(example)}'\n`);
      expect(stdout).not.toMatch(/`|the user/);
    },
  );

  test('of what does not exist names what does', async () => {
    expect(await run(['help', 'doctr'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean doctor?'),
    });
    expect(await run(['call', 'list_part', '--help'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean list_parts?'),
    });
  });

  test('of a tool whose file cannot be loaded says why, and which tools there are', async () => {
    const { code, stderr } = await run(['call', 'get_invoice', '--help'], { CLOUDOPS_OPERATIONS: 'none.mjs' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/CLOUDOPS_OPERATIONS: .*none\.mjs" cannot be read \(ENOENT: there is no such file\)/);
    expect(stderr).not.toContain('is not a tool');
  });

  test('lists every command, and every setting with its help', async () => {
    const overview = (await run(['help'])).stdout.trimEnd().split('\n');
    for (const name of Object.keys(commands)) expect(overview.join('\n')).toMatch(new RegExp(`^  ${name}  `, 'm'));
    // A screen of 80 columns and 24 lines has room for all of it, and for the prompt.
    expect(overview.length).toBeLessThan(24);
    expect(Math.max(...overview.map((line) => line.length))).toBeLessThanOrEqual(80);
    const { stdout } = await run(['help', 'settings']);
    for (const setting of settingNames) {
      const line = stdout.split('\n').find((candidate) => candidate.startsWith(`    ${variableName(setting)} `));
      expect(line).toContain(settings[setting].help);
    }
  });
});

test.each([
  [['doctr'], 'doctr is not a command; did you mean doctor? The commands are call, client-config,'],
  [['toString'], 'toString is not a command. The commands are call'],
  [['list_parts'], 'list_parts is not a command. The commands are call'],
])('a command that does not exist is answered with those that do: %j', async (args, said) => {
  expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) });
});

test('every problem of the environment is a line, and nothing is started', async () => {
  const env = { CLOUDOPS_REGOIN: 'MARKER', CLOUDOPS_TIMEOUT_MS: 'soon' };
  const { code, stdout, stderr } = await run([], env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toEqual([
    'cloudops-mcp cannot start:',
    expect.stringMatching(/^- CLOUDOPS_REGOIN is not a setting/),
    expect.stringMatching(/^- CLOUDOPS_TIMEOUT_MS is "soon"/),
  ]);
  expect(stderr).not.toContain('MARKER');
});

test('every problem of a command line is a line, and no value is shown', async () => {
  const { code, stdout, stderr } = await run(['--jsn', '--session-token', 'MARKER']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toEqual([
    'cloudops-mcp:',
    expect.stringMatching(/^- --jsn is not an option; /),
    '- --session-token is not an option: set CLOUDOPS_SESSION_TOKEN.',
  ]);
  expect(stderr).not.toContain('MARKER');
});

test.each([
  [
    ['--bogus'],
    'cloudops-mcp: --bogus is not an option; --help lists those of the command, and cloudops-mcp help settings the settings.\n',
  ],
  [['journal', '--snice', '1h'], 'cloudops-mcp journal: --snice is not an option; did you mean --since?\n'],
  [['http', '--port', 'x'], 'cloudops-mcp http: --port takes a number from 0 to 65535; 0 takes a free one.\n'],
])('a mistake in the command line is no problem of starting: %j', async (args, stderr) => {
  expect(await run(args)).toEqual({ code: 2, stdout: '', stderr });
});

test.each([
  [['--region', 'MARKER'], '--region is not an option: set CLOUDOPS_REGION.'],
  [
    ['--secret-access-key-file=MARKER'],
    '--secret-access-key-file is not an option: set CLOUDOPS_SECRET_ACCESS_KEY_FILE.',
  ],
  [['-secret-access-key', 'MARKER'], '-secret-access-key is not an option: set CLOUDOPS_SECRET_ACCESS_KEY.'],
  [['--sandbox=MARKER'], '--sandbox takes no value.'],
  [['journal', '--since'], '--since needs a value.'],
  [['journal', '--since', '--json'], '--since needs a value.'],
  [
    ['journal', 'migrate', 'MARKER'],
    'There is one argument too many: the command comes first, and options begin with --.',
  ],
])('%j neither swallows an option nor shows a value', async (args, said) => {
  const { code, stderr } = await run(args);
  expect({ code, stderr: stderr.replace(/^cloudops-mcp( journal)?: /, '') }).toEqual({ code: 2, stderr: `${said}\n` });
});
