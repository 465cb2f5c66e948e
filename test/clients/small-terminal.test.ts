import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { terminalPicture } from '../../scripts/terminal-picture.mjs';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { abortMultipartUploads } from '../../src/tools/abort-multipart-uploads.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { startHttpProcess } from '../support/http-process.js';
import { uploadArguments } from '../support/sandbox.js';
import { agents } from './agents.js';
import type { ScriptedCall } from './scripted-model.js';
import { type Session, startSession } from './session.js';

/**
 * What people see of a question without scrolling, in a small terminal and in a large one. With `PICTURES=docs/pictures`, some screens become the
 * pictures of docs/CLIENTS.md.
 */

const size = { columns: 80, rows: 24 };
const restore = { tool: restoreInstance.name, args: { ...restoreInstance.example, instanceId: 'wiki' } };
const agentOf = (client: string) => {
  const agent = agents.find((one) => one.client === client);
  if (agent === undefined) throw new Error(`${client} is none of the agents`);
  return agent;
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function keepPicture(session: Session, name: string, title: string) {
  const text = await session.colored();
  const svg = terminalPicture({ frames: [{ text, ms: 1 }], ...size, title });
  expect(Buffer.byteLength(svg)).toBeLessThan(60_000);
  if (process.env.PICTURES !== undefined) writeFileSync(join(process.env.PICTURES, `${name}.svg`), svg);
}

test('Claude Code: change, risk, place and buttons of a question are visible', async () => {
  const session = await startSession(agentOf('@anthropic-ai/claude-code'), [restore], { size });
  closing.push(session.close);
  await session.go();
  const seen = (await session.shows(/more lines\)[\s\S]*Decision/)).join('\n');
  expect(seen).toMatch(/Create DevOps server "wiki"[\s\S]*It costs money\.[\s\S]*The built-in sandbox/);
  expect(seen).toMatch(/Accept[\s\S]*Decline/);
  await keepPicture(session, 'question-claude-code', 'Claude Code asks whether to create a DevOps server');
});

test('Codex: change, risk, place and both answers of a question are visible', async () => {
  const session = await startSession(agentOf('@openai/codex'), [restore], { size });
  closing.push(session.close);
  await session.go();
  await session.shows(/Allow the cloudops MCP server to run tool "restore_instance"/);
  await session.press('Enter');
  const seen = (await session.shows(/2\. Do nothing/)).join('\n');
  expect(seen).toMatch(/Create DevOps server "wiki"[\s\S]*It costs money\.[\s\S]*The built-in sandbox/);
  expect(seen).toContain('Create server "wiki" (costs money)');
  await keepPicture(session, 'question-codex', 'Codex asks whether to create a DevOps server');
});

const questions: readonly [what: string, call: ScriptedCall, headline: RegExp, toDo: string][] = [
  [
    'alters',
    { tool: upgradeKubeVersion.name, args: upgradeKubeVersion.example },
    /Upgrade cluster "demo-user" to version "1\.34\.2-sandbox"\?/,
    'Upgrade cluster "demo-user"',
  ],
  [
    'deletes one',
    { tool: abortMultipartUpload.name, args: abortMultipartUpload.example },
    /Abort the upload of "video\/launch\.mov" to bucket "demo-bucket"\?/,
    'Type video/launch.mov',
  ],
  [
    'deletes one with a long name',
    { tool: abortMultipartUpload.name, args: uploadArguments },
    /Abort the upload of "backups\/2026\/[^"]*…" to bucket "demo-bucket"\?/,
    'Type backups/2026/database.dump',
  ],
  [
    'deletes several',
    { tool: abortMultipartUploads.name, args: { bucket: uploadArguments.bucket, includeActive: true } },
    /Abort \d unfinished uploads in bucket "demo-bucket"/,
    'Type abort ',
  ],
];

describe.each([
  ['Claude Code', '@anthropic-ai/claude-code', /This cannot be undone\.[\s\S]*Esc to cancel/],
  ['Codex', '@openai/codex', /This cannot be undone\.[\s\S]*enter to submit/],
] as const)('%s', (_name, client, whole) => {
  describe.each([size, { columns: 120, rows: 40 }])('at %j', (terminal) => {
    test.each(questions)(
      'what a change that %s does, that it cannot be undone, and what to do is visible',
      async (...question) => {
        const [, call, headline, toDo] = question;
        const session = await startSession(agentOf(client), [call], { size: terminal });
        closing.push(session.close);
        await session.go();
        if (client === '@openai/codex') {
          await session.shows(/Allow the cloudops MCP server to run tool/);
          await session.pressUntil('Enter', (seen) => /cannot be undone/.test(seen), 'the question');
        }
        const seen = (await session.shows(whole)).join('\n');
        expect(seen).toMatch(headline);
        expect(seen).toContain('The built-in sandbox');
        expect(seen).toContain(toDo);
      },
    );
  });
});

test('Claude Code: a change that waits on the page is a task in the background', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-small-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const line = (name: string, scope = '') => `${name} ${createHash('sha256').update(name).digest('hex')} ${scope}\n`;
  writeFileSync(join(folder, 'tokens'), line('alice') + line('bob', 'cloudops:approve'));
  const server = await startHttpProcess(['--sandbox'], {
    env: {
      CLOUDOPS_CONFIRM: 'approval',
      CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'),
      CLOUDOPS_HTTP_PUBLIC_URL: 'https://cloudops.example.com',
      CLOUDOPS_STATE_KEY: 'k'.repeat(32),
      CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    },
  });
  closing.push(server.stop);
  const headers = { Authorization: 'Bearer alice' };
  const config = JSON.stringify({ mcpServers: { cloudops: { type: 'http', url: server.url.href, headers } } });
  const session = await startSession(agentOf('@anthropic-ai/claude-code'), [restore], { edit: () => config, size });
  closing.push(session.close);
  await session.go();
  await session.shows(/Done\.[\s\S]*(?:1 task|background|running)/i);
  await keepPicture(
    session,
    'task-claude-code',
    'Claude Code has moved a change that waits for a person to the background',
  );
});
