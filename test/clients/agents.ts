import * as z from 'zod';
import { clientConfig, type clients, type InstalledClient } from './client.js';

/** A file of a client: its path below the home folder, and its text. */
export type File = readonly [path: string, text: string];

/** An agent without a person in front of it, and how its model is replaced. */
export interface Agent {
  readonly title: string;
  readonly client: keyof typeof clients;
  /** Writes the block in the format of the client, as docs/CLIENTS.md has it. Absent if the client reads the block as it is. */
  readonly format?: (block: string) => string;
  /** Where the block goes. The rest of the file makes it ask nobody but the stand-in. */
  files(block: string, origin: string): readonly File[];
  /** Set if it asks its user before each call because the block says so: what to leave out of the block to have it call on its own. */
  readonly asksBecauseOf?: string;
  env(origin: string): Readonly<Record<string, string>>;
  /** Lists the servers, with what says that ours can be used. */
  readonly list: readonly string[];
  readonly listed: RegExp;
  /** Where it looks for skills, below the home folder. */
  readonly skills: string;
  /** Gives the model a task. */
  readonly task: readonly string[];
  /** Whether it says that it can ask its user, though nobody is there. */
  readonly asks: boolean;
  /** Set if it says that it shows views. */
  readonly declaresViews?: true;
  /** With a person in front of it: its arguments, what else it finds in its home, and what it shows once it takes a task. */
  readonly inTerminal: {
    readonly args: readonly string[];
    readonly files?: (project: string) => readonly File[];
    readonly ready: RegExp;
  };
}

interface Placing {
  readonly settings?: readonly string[];
  /** Set to leave in the block what has the client ask before each call. */
  readonly asIs?: boolean;
  /** Changes the block, for tests that look over its shoulder. */
  readonly edit?: (block: string) => string;
}

/** Places what client-config prints for an agent, as somebody has it who allows it to call without asking, or as it is. */
export async function placeBlock(
  client: InstalledClient,
  { format = (block) => block, files, asksBecauseOf }: Agent,
  origin: string,
  { settings = [], asIs = false, edit = (block) => block }: Placing = {},
): Promise<void> {
  // The tester's browser stays as it is.
  const block = format(edit(await clientConfig('CLOUDOPS_OPEN_BROWSER=off', ...settings)));
  const { [asksBecauseOf ?? '']: _, ...allowing } = asksBecauseOf === undefined ? {} : JSON.parse(block);
  const used = asIs || asksBecauseOf === undefined ? block : JSON.stringify(allowing);
  for (const [path, text] of files(used, origin)) await client.write(path, text);
}

const server = z.object({
  command: z.string(),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
});
const serverIn = (block: string) =>
  z.object({ mcpServers: z.object({ cloudops: server }) }).parse(JSON.parse(block)).mcpServers.cloudops;

/** Strings and lists of strings in TOML are as in JSON. */
const asToml = (values: object) =>
  Object.entries(values)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    .join('\n');

const merged = (block: string, more: object) => JSON.stringify({ ...more, ...JSON.parse(block) });

export const agents: readonly Agent[] = [
  {
    title: 'Claude Code (claude -p)',
    client: '@anthropic-ai/claude-code',
    files: (block) => [
      ['project/.mcp.json', block],
      // The approval that it asks a person for.
      ['.claude/settings.json', '{"enableAllProjectMcpServers": true}'],
    ],
    env: (origin) => ({
      ANTHROPIC_API_KEY: 'dummy',
      ANTHROPIC_BASE_URL: origin,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // The tools at once, not on demand, so that the script can call them.
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: 'false',
    }),
    list: ['mcp', 'list'],
    listed: /cloudops.*Connected/,
    skills: '.claude/skills',
    task: ['-p', 'Go', '--mcp-config', '.mcp.json', '--strict-mcp-config', '--allowedTools', 'mcp__cloudops'],
    asks: true,
    inTerminal: {
      args: [
        ...['--permission-mode', 'default', '--mcp-config', '.mcp.json', '--strict-mcp-config'],
        ...['--allowedTools', 'mcp__cloudops'],
      ],
      // The answers to what it asks when it is started for the first time.
      files: (project) => [
        [
          '.claude.json',
          JSON.stringify({
            hasCompletedOnboarding: true,
            theme: 'dark',
            customApiKeyResponses: { approved: ['dummy'], rejected: [] },
            projects: { [project]: { hasTrustDialogAccepted: true, enabledMcpjsonServers: ['cloudops'] } },
          }),
        ],
      ],
      ready: /manual mode on/,
    },
  },
  {
    title: 'Codex (codex exec)',
    client: '@openai/codex',
    format: (block) => {
      const { env, ...launch } = serverIn(block);
      return `[mcp_servers.cloudops]\n${asToml(launch)}\n\n[mcp_servers.cloudops.env]\n${asToml(env)}\n`;
    },
    files: (block, origin) => [
      [
        '.codex/config.toml',
        `model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "Scripted"
base_url = "${origin}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

${block}`,
      ],
    ],
    env: () => ({ SCRIPTED_KEY: 'dummy' }),
    list: ['mcp', 'list'],
    listed: /cloudops .*enabled/,
    skills: '.agents/skills',
    task: [
      'exec',
      // Otherwise it begins before the server is there.
      ...['-c', 'mcp_servers.cloudops.required=true'],
      ...['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'Go'],
    ],
    asks: true,
    inTerminal: { args: ['-c', 'mcp_servers.cloudops.required=true'], ready: /Ask Codex/ },
  },
  {
    title: 'Gemini CLI (gemini -p)',
    client: '@google/gemini-cli',
    files: (block) => [
      [
        '.gemini/settings.json',
        merged(block, {
          security: { auth: { selectedType: 'gemini-api-key' } },
          privacy: { usageStatisticsEnabled: false },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        }),
      ],
    ],
    env: (origin) => ({
      GEMINI_API_KEY: 'dummy',
      GOOGLE_GEMINI_BASE_URL: origin,
      // It starts servers only in folders that it trusts.
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    list: ['mcp', 'list'],
    listed: /cloudops.*Connected/,
    skills: '.agents/skills',
    task: ['-p', 'Go', '-m', 'gemini-2.5-flash', '--yolo'],
    asks: false,
    inTerminal: { args: ['-m', 'gemini-2.5-flash', '--yolo'], ready: /1 MCP server/ },
  },
  {
    title: 'Qwen Code (qwen -p)',
    client: '@qwen-code/qwen-code',
    files: (block) => [
      [
        '.qwen/settings.json',
        merged(block, {
          security: { auth: { selectedType: 'openai' } },
          privacy: { usageStatisticsEnabled: false },
          general: { enableAutoUpdate: false },
          // The tools at once, not on demand, so that the script can call them.
          tools: { toolSearch: { enabled: false } },
        }),
      ],
    ],
    env: (origin) => ({ OPENAI_API_KEY: 'dummy', OPENAI_BASE_URL: `${origin}/v1`, OPENAI_MODEL: 'scripted' }),
    list: ['mcp', 'list'],
    listed: /cloudops.*Connected/,
    skills: '.qwen/skills',
    task: ['-p', 'Go', '--approval-mode', 'yolo'],
    asks: false,
    declaresViews: true,
    inTerminal: { args: ['--approval-mode', 'yolo'], ready: /YOLO mode/ },
  },
  {
    title: 'opencode (opencode run)',
    client: 'opencode-ai',
    format: (block) => {
      const { command, args, env } = serverIn(block);
      const cloudops = { type: 'local', command: [command, ...args], environment: env, enabled: true };
      return JSON.stringify({ mcp: { cloudops }, permission: { 'cloudops_*': 'ask' } });
    },
    files: (block, origin) => [
      [
        '.config/opencode/opencode.json',
        merged(block, {
          model: 'anthropic/scripted',
          small_model: 'anthropic/scripted',
          enabled_providers: ['anthropic'],
          provider: {
            anthropic: {
              options: { baseURL: `${origin}/v1`, apiKey: 'dummy' },
              models: { scripted: { name: 'Scripted', tool_call: true } },
            },
          },
        }),
      ],
    ],
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    }),
    asksBecauseOf: 'permission',
    list: ['mcp', 'list'],
    listed: /cloudops.*connected/,
    skills: '.agents/skills',
    task: ['run', 'Go'],
    asks: false,
    inTerminal: { args: [], ready: /1 MCP/ },
  },
];
