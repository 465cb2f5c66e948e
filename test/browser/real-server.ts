import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startSandbox } from '../../sandbox/sandbox.js';
import { appsExtension, viewMimeType } from '../../src/mcp/views/view-contract.js';
import { cleanEnv, serverPath } from '../support/server-process.js';

/** The built server over stdio, with a client that shows views, in front of a sandbox in this process. */
export interface RealServer {
  readonly client: Client;
  readonly sandbox: Awaited<ReturnType<typeof startSandbox>>;
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** @param settings beside those that every one has */
export async function startRealServer(settings: Readonly<Record<string, string>> = {}): Promise<RealServer> {
  const folder = await mkdtemp(join(tmpdir(), 'cloudops-views-'));
  const keys = { accessKeyId: 'SANDBOX', secretAccessKey: 'sandbox' };
  const sandbox = await startSandbox({ now: () => new Date(), keys });
  const { credentials, endpoints } = sandbox.cloud;
  const env = cleanEnv({
    CLOUDOPS_ACCESS_KEY_ID: credentials.accessKeyId,
    CLOUDOPS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    CLOUDOPS_STORAGE_URL: endpoints.storage,
    CLOUDOPS_CATALOG_URL: endpoints.catalog,
    CLOUDOPS_DEVOPS_URL: endpoints.devops,
    CLOUDOPS_CONFIRM: 'human',
    CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    ...settings,
  });
  const capabilities = { extensions: { [appsExtension]: { mimeTypes: [viewMimeType] } } };
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  const command = { command: process.execPath, args: [serverPath] };
  await client.connect(new StdioClientTransport({ ...command, env, stderr: 'ignore' }));
  return {
    client,
    sandbox,
    call: async (name, args) => (await client.callTool({ name, arguments: { ...args } })) as CallToolResult,
    async close() {
      await client.close();
      await sandbox.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
