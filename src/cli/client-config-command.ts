import { resolve } from 'node:path';
import { hiddenBySandbox } from '../config/load-config.js';
import { missingVariables } from '../config/open-accounts.js';
import { sentences } from '../util/human.js';
import { exact, listed, namesOf, say } from '../util/safe-text.js';
import { type Command, validConfig } from './command.js';
import { printLine, printWrapped } from './layout.js';

/** `cloudops-mcp client-config` prints the `mcpServers` JSON with the user's settings, and notes on stderr. */
export const clientConfigCommand: Command = {
  usage: '',
  about: 'print the configuration for MCP clients',
  details:
    'docs/CLIENTS.md says where each client takes it, what differs, and how to name a server that runs elsewhere.',
  example: 'client-config --sandbox',
  run: async (invocation) => {
    const { stdout, stderr, node, script } = invocation.terminal;
    const config = validConfig(invocation);
    const { origins, values, accounts } = config;
    // The sandbox has its own key.
    const missing = values.SANDBOX ? [] : accounts.all.flatMap(({ keys }) => missingVariables(keys));
    const secrets = [...new Set([...missing, ...origins.filter(({ secret }) => secret).map(({ name }) => name)])];
    // Clients choose the working directory of the server, so paths are absolute.
    const copied = origins.flatMap(({ name, shown, isPath, secret }) =>
      secret ? [] : [[name, isPath ? resolve(shown) : shown] as const],
    );
    // Secrets are not printed. The client replaces the reference by its own variable.
    const env = Object.fromEntries([...copied, ...secrets.map((name) => [name, `\${${name}}`] as const)]);
    // A client that the desktop starts has a shorter PATH than a shell.
    const server = { command: node, args: [script], env };
    const lines = JSON.stringify({ mcpServers: { cloudops: server } }, null, 2).split('\n');
    for (const line of lines) printLine(stdout, exact(line));

    const ignoredSettings = hiddenBySandbox(config);
    const takesConfirmations = accounts.all.some(
      (account) => account.values.CONFIRM === 'ask' && !account.values.READ_ONLY,
    );
    const notes = sentences(
      secrets.length > 0 &&
        say`Set ${namesOf(secrets)} in the environment of the client. Some clients write the reference in another way, or keep secrets in files.`,
      takesConfirmations &&
        say`If a client neither asks its user nor shows plans with a button, its agent can carry out a plan by itself. With CLOUDOPS_CONFIRM=human, only a person can.`,
      ignoredSettings.length > 0 &&
        say`CLOUDOPS_SANDBOX is set, so the server uses the sandbox and ignores ${listed(ignoredSettings)}. Unset it for your account.`,
    );
    for (const note of notes) {
      printLine(stderr, '');
      printWrapped(stderr, note);
    }
    return 0;
  },
};
