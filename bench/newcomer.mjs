// Times the path of a newcomer from a fresh clone to the first answer and the first plan on the sandbox. Run it with npm run bench --
// newcomer. The goal is three minutes to the answer and five to the plan, reading included.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-newcomer-'));
const clone = join(folder, 'cloudops-mcp');
const begun = performance.now();
const passed = (what) => console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${what}`);
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

try {
  run('git', ['clone', '--quiet', fileURLToPath(new URL('..', import.meta.url)), clone]);
  passed('cloned');
  run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], clone);
  passed('installed and built');
  const client = new Client({ name: 'newcomer', version: '1' });
  const args = [join(clone, 'dist/main.js'), '--sandbox'];
  const env = { ...process.env, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder };
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
  const upload = {
    bucket: 'demo-bucket',
    object: 'backups/2026/database.dump',
    uploadId: 'demo-upload-in-progress',
  };
  const answer = await client.callTool({ name: 'list_parts', arguments: upload });
  if (answer.isError) throw new Error(answer.content[0].text);
  passed(`first answer: ${answer.content[0].text.split('\n')[0]}`);
  const restore = { backupId: 'demobackup0000000000000000000001', instanceId: 'first', planOnly: true };
  const plan = await client.callTool({ name: 'restore_instance', arguments: restore });
  if (plan.isError) throw new Error(plan.content[0].text);
  passed(`first plan: ${plan.content[0].text.split('\n')[0]}`);
  await client.close();
} finally {
  rmSync(folder, { recursive: true });
}
