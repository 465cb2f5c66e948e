import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { startSandbox } from '../../sandbox/sandbox.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { browserOf } from '../support/decisions.js';
import { startHttpProcess } from '../support/http-process.js';
import { readAsAPerson } from '../support/person.js';
import { agents } from './agents.js';
import type { ScriptedCall } from './scripted-model.js';
import { startSession } from './session.js';

/** Claude Code as its maker publishes it, over HTTP. It speaks protocol 2026-07-28, so its user is asked in a form, unless somebody else has to decide. */

const claude = agents.find(({ client }) => client === '@anthropic-ai/claude-code');
const args = { ...restoreInstance.example, instanceId: 'restored-by-claude' };

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
    const sandbox = await startSandbox({ now: () => new Date() });
    closing.push(sandbox.close);
    const { credentials, endpoints } = sandbox.cloud;
    const env = {
      CLOUDOPS_ACCESS_KEY_ID: credentials.accessKeyId,
      CLOUDOPS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      CLOUDOPS_DEVOPS_URL: endpoints.devops,
      CLOUDOPS_STORAGE_URL: endpoints.storage,
      CLOUDOPS_CONFIRM: confirm,
      CLOUDOPS_HTTP_TOKENS_FILE: tokens,
      CLOUDOPS_HTTP_PUBLIC_URL: publicUrl,
      CLOUDOPS_STATE_KEY: 'k'.repeat(32),
      CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    };
    let server = startHttpProcess([], { env });
    closing.push(async () => (await server).stop());
    // Like a load balancer, it holds connections while there is no server: Claude Code fails a task when a poll is refused.
    const balancer = createServer(async (client) => {
      const upstream = connect((await server).port, '127.0.0.1');
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const)
        from.pipe(to).on('error', () => from.destroy());
    });
    balancer.listen(0, '127.0.0.1');
    await once(balancer, 'listening');
    closing.push(() => balancer.close());
    const origin = `http://127.0.0.1:${Object(balancer.address()).port}`;
    /** Kills the server, and starts another one in its place. */
    const killAndRestart = async () => {
      const { child, ended } = await server;
      server = ended.then(() => startHttpProcess([], { env }));
      child.kill('SIGKILL');
      await server;
    };
    const headers = { Authorization: 'Bearer alice' };
    const config = { mcpServers: { cloudops: { type: 'http', url: `${origin}/mcp`, headers } } };
    const session = await startSession(claude, script, { edit: () => JSON.stringify(config) });
    closing.push(session.close);
    /** Bob signs in and agrees to the plan of a link. */
    const agree = async (text: string) => {
      const [, nonce = ''] = /\/decisions\/([\w-]{22})\//.exec(text) ?? [];
      const browser = browserOf({ origin, publicUrl });
      await browser.signIn('bob');
      await readAsAPerson();
      return (await browser.decide(nonce, 'accept')).status;
    };
    return { session, agree, killAndRestart };
  }

  const call = { tool: restoreInstance.name, args };

  test.each(['ask', 'human'])('with %s, its user agrees in a form', async (confirm) => {
    const { session } = await start(confirm, [call]);
    await session.go();
    await session.shows(/requests your input[\s\S]*It costs money\.[\s\S]*Decision/);
    await readAsAPerson();
    await session.pressUntil('Down', (seen) => /❯ Accept/.test(seen), 'the button');
    await session.pressUntil('Enter', () => session.model.results().length > 0, 'the answer');
    expect(session.model.results()[0]).toContain('The cloud accepted the restore');
  });

  test.each(['at once', 'after kill -9 and a restart'])(
    'with approval, the call is a task: the model gets the link, and the outcome without another call, %s',
    async (when) => {
      const { session, agree, killAndRestart } = await start('approval', [call]);
      await session.go();
      await session.until(() => session.model.results().length === 1, 'the task');
      const [told = ''] = session.model.results();
      expect(told).toMatch(/server-side task/);
      if (when !== 'at once') await killAndRestart();
      expect(await agree(told)).toBe(200);
      const isWoken = () => session.model.requests.some((body) => body.includes('The cloud accepted the restore'));
      await session.until(isWoken, 'the outcome');
      expect(session.model.results()).toHaveLength(1);
    },
  );
});
