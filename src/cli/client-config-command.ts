import { resolve } from 'node:path';
import { type Config, hiddenBySandbox } from '../config/load-config.js';
import { missingVariables } from '../config/open-accounts.js';
import { sentences } from '../util/human.js';
import { exact, listed, namesOf, type SafeText, say } from '../util/safe-text.js';
import { type Command, type Terminal, validConfig } from './command.js';
import { columnsOf, printLine, wrapped } from './layout.js';

/** `cloudops-mcp client-config` prints the `mcpServers` JSON with the user's settings. What the user has to know or set goes to stderr. */
export const clientConfigCommand: Command = {
  usage: '',
  about: 'print the configuration for MCP clients',
  details:
    'docs/CLIENTS.md says where each client takes it, what differs, and how to name a server that runs elsewhere.',
  run: async (invocation) => {
    const { terminal } = invocation;
    const { server, notes } = localServer(validConfig(invocation), terminal);
    // Escapes of invisible characters leave the JSON valid.
    const lines = JSON.stringify({ mcpServers: { cloudops: server } }, null, 2).split('\n');
    for (const line of lines) printLine(terminal.stdout, exact(line));
    const width = columnsOf(terminal.stderr);
    for (const note of notes) terminal.stderr.write(`${['', ...wrapped(note, width)].join('\n')}\n`);
    return 0;
  },
};

/** A server in `mcpServers`, and sentences for the user about it. */
interface ClientConfig {
  readonly server: object;
  readonly notes: readonly SafeText[];
}

/** In place of a secret, a reference that the client replaces by the variable of its own environment. */
const reference = (variable: string) => `\${${variable}}`;

/** A server that the client starts, with a copy of the settings that are given here, and a reference in place of each secret. */
function localServer(config: Config, { node, script }: Pick<Terminal, 'node' | 'script'>): ClientConfig {
  const { origins, sandbox, accounts } = config;
  const secrets = secretsToSet(config);
  // Paths are absolute, because clients choose the working directory of the server.
  const copied = origins.flatMap(({ name, value, isPath, secret }) =>
    secret ? [] : [[name, isPath ? resolve(value) : value] as const],
  );
  const env = Object.fromEntries([...copied, ...secrets.map((name) => [name, reference(name)] as const)]);

  const ignoredSettings = hiddenBySandbox(config);
  const hasEndpoint = accounts.all.some(({ cloud }) => Object.values(cloud.endpoints).some((url) => url !== undefined));
  const takesPlanIds = accounts.all.some(({ confirm, policy }) => confirm === 'ask' && !policy.readOnly);
  return {
    // Full paths, because a client that the desktop starts has a shorter PATH than a shell.
    server: { command: node, args: [script], env },
    notes: sentences(
      secrets.length > 0 &&
        say`Set ${namesOf(secrets)} in the environment of the client. Some clients write the reference in another way, or keep secrets in files.`,
      takesPlanIds &&
        say`If a client neither asks its user nor shows plans with a button, its agent can carry out a plan by itself. With CLOUDOPS_CONFIRM=human, only a person can.`,
      ignoredSettings.length > 0 &&
        say`CLOUDOPS_SANDBOX is set, so the server uses the sandbox and ignores ${listed(ignoredSettings)}. Unset it for your account.`,
      !sandbox &&
        !hasEndpoint &&
        say`No endpoint is set. Set CLOUDOPS_STORAGE_URL, CLOUDOPS_CATALOG_URL or CLOUDOPS_DEVOPS_URL, or try with CLOUDOPS_SANDBOX=1.`,
    ),
  };
}

/** The variables that the user has to set: the secrets among the given settings, and the missing variables of access keys. */
function secretsToSet({ origins, sandbox, accounts }: Config): readonly string[] {
  // The sandbox has its own key.
  const missing = sandbox ? [] : accounts.all.flatMap(({ keys }) => missingVariables(keys));
  const given = origins.filter(({ secret }) => secret).map(({ name }) => name);
  return [...new Set([...missing, ...given])];
}
