import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
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
      const [, nonce = ''] = /\/decisions\/([\w-]{22})\//.exec(text) ?? [];
      const browser = browserOf({ origin: server.origin, publicUrl });
      await browser.signIn('bob');
      await readAsAPerson();
      return (await browser.decide(nonce, 'accept')).status;
    };
    return { session, agree };
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

  test('with approval, the call is a task: the model gets the link at once, and the outcome without another call', async () => {
    const { session, agree } = await start('approval', [call]);
    await session.go();
    await session.until(() => session.model.results().length === 1, 'the task');
    const [told = ''] = session.model.results();
    expect(told).toMatch(/server-side task/);
    expect(await agree(told)).toBe(200);
    const isWoken = () => session.model.requests.some((body) => body.includes('The cloud accepted the restore'));
    await session.until(isWoken, 'the outcome');
    expect(session.model.results()).toHaveLength(1);
  });
});
