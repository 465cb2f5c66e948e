import { describe, expect, test } from 'vitest';
import { commands, runCommandLine } from '../../src/cli/run.js';
import { settingNames, settings, variableName } from '../../src/config/settings.js';
import { fakeTerminal } from '../support/terminal.js';

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const { terminal, printed } = fakeTerminal({ env, version: '1.2.3' });
  return { code: await runCommandLine(args, terminal), ...printed };
}

describe('help', () => {
  test.each([
    [['--help']],
    [['-h']],
    [['help']],
    [['doctor', '--help']],
    [['call', 'list_parts', '--regoin', 'x', '-h']],
  ])('%j prints it, whatever else is given', async (args) => {
    const { code, stdout, stderr } = await run(args, { CLOUDOPS_REGOIN: 'x' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^An MCP server .*\n/);
  });

  test('lists every command, and every setting with its help; no option for a secret', async () => {
    const { stdout } = await run(['help']);
    for (const name of Object.keys(commands)) expect(stdout).toContain(`cloudops-mcp ${name}`);
    for (const setting of settingNames) {
      const line = stdout.split('\n').find((candidate) => candidate.startsWith(`    ${variableName(setting)} `));
      expect(line).toContain(settings[setting].help);
      expect(line?.includes(' --')).toBe(settings[setting].secret !== true);
    }
  });
});

test.each([[['--version']], [['-v']], [['doctor', '--version']]])('%j prints the version', async (args) => {
  expect(await run(args)).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
});

test.each([
  [['doctr'], 'doctr is not a command; did you mean doctor? The commands are call, client-config,'],
  [['toString'], 'toString is not a command. The commands are call'],
])('a command that does not exist is answered with those that do: %j', async (args, said) => {
  expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) });
});

test('every problem of a command line and its environment is a line, and nothing is started', async () => {
  const env = { CLOUDOPS_REGOIN: 'MARKER', CLOUDOPS_TIMEOUT_MS: 'soon' };
  const { code, stdout, stderr } = await run(['--read-olny', '--session-token', 'MARKER'], env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toEqual([
    'cloudops-mcp cannot start:',
    expect.stringMatching(/^- CLOUDOPS_REGOIN is not a setting/),
    expect.stringMatching(/^- --read-olny is not an option; did you mean --read-only/),
    expect.stringMatching(/^- --session-token would show the secret/),
    expect.stringMatching(/^- CLOUDOPS_TIMEOUT_MS is "soon"/),
  ]);
  expect(stderr).not.toContain('MARKER');
});
