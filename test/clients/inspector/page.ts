import { type ChildProcess, spawn } from 'node:child_process';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../browser/browser.js';
import { freePort } from '../../support/free-port.js';
import { installClient } from '../client.js';

/** The Inspector's page, with its servers listed. */
export interface Inspector {
  /** Opens the page anew, connects to one of the servers, and shows one of its screens. */
  open(server: string, screen: 'Tools' | 'Apps'): Promise<Page>;
  close(): Promise<void>;
}

const token = 'inspector';

/** Starts the Inspector for servers over stdio, in a browser. */
export async function startInspector(mcpServers: object): Promise<Inspector> {
  const client = await installClient('@modelcontextprotocol/inspector');
  await client.write('servers.json', JSON.stringify({ mcpServers }));
  // It takes no port of its own choice.
  const [port, sandboxPort] = [await freePort(), await freePort()];
  const process = spawn(client.bin, ['--web', '--config', '../servers.json'], {
    cwd: client.project,
    env: {
      ...client.env,
      HOST: '127.0.0.1',
      CLIENT_PORT: String(port),
      MCP_SANDBOX_PORT: String(sandboxPort),
      MCP_AUTO_OPEN_ENABLED: 'false',
      MCP_INSPECTOR_API_TOKEN: token,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await isUp(process);
  const browser = await startBrowser();
  return {
    async open(server, screen) {
      const page = await browser.open(`http://127.0.0.1:${port}/?MCP_INSPECTOR_API_TOKEN=${token}`);
      page.setDefaultTimeout(60_000);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.getByRole('switch', { name: `Connect or disconnect "${server}"` }).click({ force: true });
      await page.locator('[data-testid="connection-status"][data-status="connected"]').waitFor();
      await page.getByRole('button', { name: 'Close monitoring sidebar' }).click();
      await page.locator('label', { hasText: new RegExp(`^${screen}$`) }).click();
      return page;
    },
    async close() {
      await browser.close();
      const ended = new Promise((resolve) => process.once('exit', resolve));
      process.kill();
      await ended;
      await client.remove();
    },
  };
}

function isUp({ stdout }: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = '';
    stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes('is up and running')) resolve();
    });
    stdout?.on('end', () => reject(new Error(`the Inspector ended: ${printed}`)));
  });
}
