import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';
import { serviceToolNames } from '../src/mcp/server-tools.js';
import { decideTool, type ProposedChange } from '../src/mcp/views/view-contract.js';
import { textAt } from '../src/util/objects.js';
import { readProposedChange } from '../ui/change/read-change.js';
import { type RecordedCloud, type ReportedRequest, type SandboxSetting, startCloud } from './cloud.js';
import { isReadOfJobs, startJobsCloud } from './jobs-cloud.js';
import type { ModelTool } from './model.js';
import { startOwnCloud } from './own-cloud.js';
import type { Event, JournalEntry } from './record.js';
import type { Situation } from './situation.js';

/** The built server with a connected client, on the cloud of a situation. */
export interface Session {
  /** The server's instructions. */
  readonly instructions: string;
  readonly tools: readonly ModelTool[];
  /** Calls a tool. Resolves with the text that the model reads. */
  call(tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string>;
  /** Agrees to every plan that a result showed in a view. */
  click(): Promise<void>;
  /** Disconnects and resolves with the journal. */
  end(): Promise<readonly JournalEntry[]>;
  /** Stops everything that was started. */
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Path of the built server. */
  readonly server: string;
  readonly now: () => Date;
  /** Milliseconds until the person answers a question. The server treats an answer within a second as a program's. */
  readonly readMs: number;
  /** Receives every call, question and request. */
  readonly record: (event: Event) => void;
}

/** Starts the server of a situation over stdio, with its clouds and a new journal. */
export async function startSession(situation: Situation, options: SessionOptions): Promise<Session> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'cloudops-eval-'));
    closing.push(() => rm(folder, { recursive: true, force: true }));
    const called = { tool: '' };
    const started = await startClouds(situation, options, called, closing, folder);
    const env = {
      ...Object.fromEntries(
        Object.entries({
          STORAGE_HEADERS: 'amz',
          LOG_LEVEL: 'error',
          JOURNAL: join(folder, 'journal.db'),
          ...started,
          ...situation.settings,
        }).map(([name, value]) => [`CLOUDOPS_${name}`, value]),
      ),
      XDG_STATE_HOME: folder,
    };
    const { client, call, click } = await connect(situation, options, env, called);
    closing.push(() => client.close());
    const { tools } = await client.listTools();
    return {
      instructions: client.getInstructions() ?? '',
      tools: tools.filter(isForModels).map(({ name, description = '', inputSchema }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema },
      })),
      call,
      click,
      end: async () => {
        await client.close();
        return readJournal(options.server, env);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** False for a tool that only views call. */
const isForModels = ({ _meta }: { readonly _meta?: unknown }) => viewTool.safeParse(_meta).success === false;
const viewTool = z.object({ ui: z.object({ visibility: z.tuple([z.literal('app')]) }) });

/** The tool that is being called. */
interface Called {
  tool: string;
}

/** Starts the clouds of a situation, and resolves with the server's settings for them. */
async function startClouds(
  { accounts, defaultAccount, cloud = {}, ownCloud, jobs }: Situation,
  { now, record }: SessionOptions,
  called: Called,
  closing: (() => Promise<unknown>)[],
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const isRead = (request: ReportedRequest) => {
    if (jobs !== undefined) return isReadOfJobs(request);
    const { method } = request;
    return ownCloud === undefined ? ['GET', 'HEAD'].includes(method) : ownCloud.changes[called.tool] !== method;
  };
  const tellOf = (account: string) => (request: ReportedRequest) =>
    record({ kind: 'request', account, changes: !isRead(request), ...request });
  if (ownCloud !== undefined) {
    const { settings, close } = await startOwnCloud(ownCloud, () => called.tool, tellOf(''));
    closing.push(close);
    return settings;
  }
  if (jobs !== undefined) {
    const { settings, close } = await startJobsCloud(jobs, tellOf(''));
    closing.push(close);
    return settings;
  }
  const clouds = new Map<string, RecordedCloud<SandboxSetting>>();
  for (const account of accounts ?? ['']) {
    const started = await startCloud(cloud, now, tellOf(account));
    closing.push(started.close);
    clouds.set(account, started);
  }
  return accounts === undefined ? (clouds.get('')?.settings ?? {}) : await accountsFile(folder, clouds, defaultAccount);
}

async function connect(
  { person: { decides, reason } }: Situation,
  { server, readMs, record }: SessionOptions,
  env: Readonly<Record<string, string>>,
  called: Called,
): Promise<{ readonly client: Client } & Pick<Session, 'call' | 'click'>> {
  const shown: { readonly tool: string; readonly plan: ProposedChange }[] = [];
  /** The tools that made the plans, by `changeId`. */
  const planners = new Map<unknown, string>();
  const client = new Client(
    { name: 'cloudops-eval', version: '1' },
    { capabilities: decides === undefined ? {} : { elicitation: { form: {} } } },
  );
  if (decides !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const { message } = params;
      const decision = decides(message);
      record({ kind: 'question', tool: called.tool, message, decision });
      await delay(readMs);
      const { properties } = form.parse(params).requestedSchema;
      if ('name' in properties) {
        const [, name = ''] = /^Type (.*)$/.exec(properties.name.title) ?? [];
        return decision === 'decline' ? { action: 'decline' } : { action: 'accept', content: { name } };
      }
      const [accept, nothing] = properties.decision.enum;
      if (decision === 'decline')
        return { action: 'accept', content: { decision: nothing, ...(reason !== undefined && { reason }) } };
      return { action: 'accept', content: { decision: accept } };
    });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [server], env, stderr: 'inherit' }));
  return {
    client,
    async call(tool, args, signal) {
      // `confirm_change` sends the request of the tool that made the plan.
      called.tool = planners.get(args.changeId) ?? operationOf(tool, args);
      try {
        const { content, structuredContent, _meta } = await client.callTool(
          { name: tool, arguments: args },
          { signal, timeout: longestCallMs },
        );
        const plan = readProposedChange(_meta);
        if (plan !== undefined) shown.push({ tool, plan });
        const changeId = textAt(structuredContent, 'changeId');
        if (changeId !== undefined && !planners.has(changeId)) planners.set(changeId, called.tool);
        return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
      } catch (error) {
        signal.throwIfAborted();
        return error instanceof Error ? error.message : String(error);
      }
    },
    async click() {
      await delay(readMs);
      for (const { tool, plan } of shown.splice(0)) {
        const { ticket, sentence: message } = plan;
        if (ticket === undefined) continue;
        called.tool = tool;
        record({ kind: 'question', tool, message, decision: 'accept' });
        await client.callTool(
          { name: decideTool, arguments: { ticket, decision: 'accept' } },
          { timeout: longestCallMs },
        );
      }
    },
  };
}

/** The operation that a call names, if the tool is for operations of services. */
const operationOf = (tool: string, { name }: Readonly<Record<string, unknown>>): string =>
  serviceToolNames.includes(tool) && typeof name === 'string' ? name : tool;

const longestCallMs = 120_000;

/** The server's question: the name of what is deleted, or two choices, of which the first accepts. */
const form = z.object({
  requestedSchema: z.object({
    properties: z.union([
      z.object({ name: z.object({ title: z.string() }) }),
      z.object({ decision: z.object({ enum: z.tuple([z.string(), z.string()]) }) }),
    ]),
  }),
});

/** Writes an accounts file for the clouds, and resolves with its setting. */
async function accountsFile(
  folder: string,
  clouds: ReadonlyMap<string, RecordedCloud<SandboxSetting>>,
  byDefault: string | undefined,
) {
  const accounts: Record<string, object> = {};
  for (const [name, { settings }] of clouds) {
    const [accessKeyIdFile, secretAccessKeyFile] = [join(folder, `${name}.id`), join(folder, `${name}.secret`)];
    await writeFile(accessKeyIdFile, settings.ACCESS_KEY_ID);
    await writeFile(secretAccessKeyFile, settings.SECRET_ACCESS_KEY, { mode: 0o600 });
    const { STORAGE_URL: storageUrl, CATALOG_URL: catalogUrl, DEVOPS_URL: devopsUrl } = settings;
    accounts[name] = { accessKeyIdFile, secretAccessKeyFile, storageUrl, catalogUrl, devopsUrl };
  }
  const file = join(folder, 'accounts.json');
  await writeFile(file, JSON.stringify({ default: byDefault, accounts }));
  return { ACCOUNTS_FILE: file };
}

const journalLine = z.object({ id: z.string(), tool: z.string(), state: z.string() });

/** Reads the journal with `cloudops-mcp journal`, as people do. */
async function readJournal(server: string, env: Readonly<Record<string, string>>): Promise<readonly JournalEntry[]> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [server, 'journal', '--json'], { env: { ...env, PATH: '' } });
  const lines = stdout.split('\n').flatMap((line) => (line === '' ? [] : journalLine.parse(JSON.parse(line))));
  return lines.map(({ id, tool, state: outcome }) => {
    const hasParts = lines.some((other) => other.id.startsWith(`${id}-`));
    return { tool, outcome, ...(hasParts && { hasParts }) };
  });
}
