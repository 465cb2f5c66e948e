import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { type HttpProcess, startHttpProcess } from '../support/http-process.js';
import { agents } from './agents.js';
import { type InstalledClient, installClient } from './client.js';
import { startScriptedModel } from './scripted-model.js';

/**
 * Claude Code as its maker publishes it, over HTTP: its user is asked by a form. A hook of its own stands for them; it gets what they
 * would see, and answers after a while.
 */

const claude = agents.find(({ client }) => client === '@anthropic-ai/claude-code');
const token = 'token-of-alice';
const accept = 'Create server restored-by-claude';
const args = { ...restoreInstance.example, instanceId: 'restored-by-claude' };
/** Longer than a program takes, by the server's clock. */
const readMs = 1500;

describe.each([
  ['agrees', { action: 'accept', content: { decision: accept } }, 'The cloud accepted the ', '"outcome":"accepted"'],
  ['declines', { action: 'decline' }, 'the user has not agreed to it', 'the user declined'],
])('whose user %s', (_what, answer, summary, told) => {
  let folder: string;
  let client: InstalledClient;
  let server: HttpProcess;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-claude-'));
    writeFileSync(join(folder, 'tokens'), `alice ${createHash('sha256').update(token).digest('hex')}`);
    server = await startHttpProcess(['--sandbox'], {
      env: { CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'), CLOUDOPS_CONFIRM: 'human' },
    });
    client = await installClient('@anthropic-ai/claude-code');
    const headers = { Authorization: `Bearer ${token}` };
    const config = { mcpServers: { cloudops: { type: 'http', url: server.url.href, headers } } };
    await client.write('project/.mcp.json', JSON.stringify(config));
    const asked = join(folder, 'asked');
    const hook = join(folder, 'hook.mjs');
    const output = { hookSpecificOutput: { hookEventName: 'Elicitation', ...answer } };
    writeFileSync(
      hook,
      `import { appendFileSync, readFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(asked)}, readFileSync(0, 'utf8'));
setTimeout(() => process.stdout.write(${JSON.stringify(JSON.stringify(output))}), ${readMs});`,
    );
    const command = `${process.execPath} ${hook}`;
    const hooks = { Elicitation: [{ hooks: [{ type: 'command', command }] }] };
    await client.write('.claude/settings.json', JSON.stringify({ enableAllProjectMcpServers: true, hooks }));
  });
  afterAll(async () => {
    await server?.stop();
    await client?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the question reaches them, and their answer the server', async () => {
    const model = await startScriptedModel([{ tool: restoreInstance.name, args }]);
    try {
      const { stdout, stderr } = await client.run(claude?.task ?? [], claude?.env(model.origin));
      expect(model.results(), `${model.refused.join('\n')}\n${stdout}\n${stderr}`).toHaveLength(1);
      expect(model.results()[0]).toContain(summary);
      expect(model.results()[0]?.replaceAll('\\', '')).toContain(told);
      const question = JSON.parse(readFileSync(join(folder, 'asked'), 'utf8'));
      expect(question).toMatchObject({ mode: 'form', message: expect.stringContaining('"restored-by-claude"') });
    } finally {
      await model.close();
    }
  });
});
