import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { browserOf, tooLong } from '../support/decisions.js';
import { type HttpProcess, startHttpProcess } from '../support/http-process.js';
import { readAsAPerson } from '../support/person.js';
import { agents } from './agents.js';
import { type InstalledClient, installClient } from './client.js';
import { ofLastChange, type ScriptedCall, startScriptedModel } from './scripted-model.js';
import { startSession } from './session.js';

/**
 * Claude Code as its maker publishes it, over HTTP: its user is asked by a form. A hook of its own stands for them; it gets what they
 * would see, and answers after a while.
 */

const claude = agents.find(({ client }) => client === '@anthropic-ai/claude-code');
const token = 'token-of-alice';
const accept = 'Create server "restored-by-claude" (costs money)';
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

describe('with a page to sign in to', () => {
  const publicUrl = 'https://cloudops.example.com';
  const line = (name: string, scope = '') => `${name} ${createHash('sha256').update(name).digest('hex')} ${scope}\n`;
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** Claude Code in a terminal, with somebody in front of it, as alice; bob decides on the page. */
  async function start(confirm: string, script: readonly ScriptedCall[]) {
    if (claude === undefined) throw new Error('Claude Code is none of the agents');
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-claude-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const tokens = join(folder, 'tokens');
    writeFileSync(tokens, line('alice') + line('bob', 'cloudops:approve'));
    const server = await startHttpProcess(['--sandbox'], {
      env: {
        CLOUDOPS_CONFIRM: confirm,
        CLOUDOPS_HTTP_TOKENS_FILE: tokens,
        CLOUDOPS_HTTP_PUBLIC_URL: publicUrl,
        CLOUDOPS_STATE_KEY: 'k'.repeat(32),
        CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
      },
    });
    closing.push(server.stop);
    const headers = { Authorization: 'Bearer alice' };
    const config = { mcpServers: { cloudops: { type: 'http', url: server.url.href, headers } } };
    const session = await startSession(claude, script, { edit: () => JSON.stringify(config) });
    closing.push(session.close);
    /** Bob signs in and agrees to the plan of a link. */
    const agree = async (text: string) => {
      const [, nonce = ''] = /\/decisions\/([0-9a-f]{16})\//.exec(text) ?? [];
      const browser = browserOf({ origin: server.origin, publicUrl });
      await browser.signIn('bob');
      await readAsAPerson();
      return (await browser.decide(nonce, 'accept')).status;
    };
    return { session, agree };
  }

  test('a plan that no form holds is decided there: its user is sent to the page, and the call brings what came of it', async () => {
    const { session, agree } = await start('ask', [tooLong]);
    await session.go();
    const question = (await session.shows(/decisions\/[0-9a-f]{16}/)).join('\n');
    expect(question).toMatch(
      /Set up Kubernetes group "big": [^…]*\?\n +It costs money\.\n +You decide on a page, where you sign in\. Opening it decides nothing\.\n/,
    );
    await session.pressUntil('Enter', (seen) => seen.includes("❯ I'm done"), 'that it was opened');
    expect(session.model.results()).toEqual([]);
    expect(await agree(question)).toBe(200);
    await session.pressUntil('Enter', () => session.model.results().length === 1, 'the answer');
    expect(session.model.results()[0]).toContain('The cloud accepted the setup of resource group');
  });

  test('with approval its user is asked nothing; somebody else decides, and the agent learns it by the changeId', async () => {
    const call = { tool: restoreInstance.name, args };
    const { session, agree } = await start('approval', [call, ofLastChange('get_change')]);
    await session.go();
    await session.until(() => session.model.results().length === 1, 'the plan');
    expect(session.model.results()[0]).toMatch(/waiting/);
    expect((await session.lines()).join('\n')).not.toContain('requests your input');
    expect(await agree(session.model.results()[0] ?? '')).toBe(200);
    await session.until(() => session.model.results().length === 2, 'the answer');
    expect(session.model.results()[1]).toContain('The cloud accepted the restore');
  });
});
