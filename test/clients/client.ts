import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandOf } from '../support/server-process.js';

/** The clients that are tried: npm package, version as in docs/CLIENTS.md, and the command that the package brings. */
export const clients = {
  '@anthropic-ai/claude-code': { version: '2.1.330', bin: 'claude' },
  '@openai/codex': { version: '0.169.0', bin: 'codex' },
  '@google/gemini-cli': { version: '0.61.0', bin: 'gemini' },
  '@qwen-code/qwen-code': { version: '0.24.4', bin: 'qwen' },
  'opencode-ai': { version: '1.18.33', bin: 'opencode' },
  mcporter: { version: '0.12.3', bin: 'mcporter' },
  '@modelcontextprotocol/inspector': { version: '2.12.0', bin: 'mcp-inspector' },
} as const;

export const serverPath = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A client that is installed, in a home and a project folder of its own. */
export interface InstalledClient {
  readonly version: string;
  readonly project: string;
  /** Writes a file below the home folder. */
  write(path: string, text: string): Promise<void>;
  /** Runs the client in the project folder until it ends. Its standard input is empty. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** Runs our server beside it, with the same home. */
  runServer(args: readonly string[]): Promise<Ran>;
  /** Path and environment, for a client that keeps running. */
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** Installs a client with npm, once for each version, and gives it a home of its own. */
export async function installClient(name: keyof typeof clients): Promise<InstalledClient> {
  const { version, bin } = clients[name];
  const folder = join(tmpdir(), 'cloudops-clients', `${name.replaceAll(/\W+/g, '-')}-${version}`);
  const path = join(folder, 'node_modules', '.bin', bin);
  if (!existsSync(path)) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{}');
    const options = ['--no-audit', '--no-fund', '--prefer-offline'];
    const { code, stderr } = await start('npm', ['install', ...options, `${name}@${version}`], {
      cwd: folder,
      env: environment(),
    });
    if (code !== 0) throw new Error(`npm could not install ${name}: ${stderr.slice(-2000)}`);
  }
  const home = await mkdtemp(join(tmpdir(), 'cloudops-client-home-'));
  const project = join(home, 'project');
  await mkdir(project);
  const env = { PATH: environment().PATH ?? '', HOME: home, TERM: 'dumb', NO_COLOR: '1' };
  return {
    version,
    project,
    bin: path,
    env,
    write: async (to, text) => {
      const file = join(home, to);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    },
    run: (args, more = {}) => start(path, args, { cwd: project, env: { ...env, ...more } }),
    runServer: (args) => start(process.execPath, [serverPath, ...args, '--sandbox'], { cwd: project, env }),
    remove: () => rm(home, { recursive: true, force: true, maxRetries: 10 }),
  };
}

/** The block that `cloudops-mcp client-config` prints, with the sandbox and more settings. */
export async function clientConfig(...settings: readonly string[]): Promise<string> {
  const { variables } = commandOf(settings);
  const env = { ...environment(), CLOUDOPS_SANDBOX: '1', ...variables };
  const { code, stdout, stderr } = await start(process.execPath, [serverPath, 'client-config'], { env });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const environment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

/** A client that hangs is ended after so long. */
const longestRunMs = 120_000;

function start(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const timeout = command === 'npm' ? 0 : longestRunMs;
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      output.stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output.stderr += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...output }));
  });
}
