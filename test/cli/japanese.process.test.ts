import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, describe, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { seededUpload } from '../../sandbox/sandbox.js';
import { widthOf } from '../../src/cli/layout.js';
import { eras } from '../support/in-process.js';
import { onTerminal } from '../support/pty.js';
import { cleanEnv, serverPath } from '../support/server-process.js';

/** With CLOUDOPS_LANGUAGE=ja, people are asked in Japanese, and agents read English. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-japanese-'));
afterAll(() => rmSync(folder, { recursive: true }));

const env = {
  CLOUDOPS_LANGUAGE: 'ja',
  CLOUDOPS_SANDBOX: '1',
  CLOUDOPS_STORAGE_HEADERS: 'amz',
  CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
};
const { bucket, key: object, uploadId } = seededUpload;
const restore = { backupId: seededBackupId, instanceId: 'wiki', diskSize: 200 };

/** A letter of Japanese. */
const japanese = /[\u3040-\u30ff\u4e00-\u9fff]/;

describe.each(eras)('a client of %s', (_name, era) => {
  async function ask(name: string, args: Record<string, unknown>, content?: Record<string, string>) {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [serverPath],
      env: cleanEnv(env),
      stderr: 'ignore',
    });
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: era } },
    );
    const forms: unknown[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      forms.push(params);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return content === undefined ? { action: 'decline' } : { action: 'accept', content };
    });
    await client.connect(transport);
    const result = await client.callTool({ name, arguments: args });
    await client.close();
    return { form: forms[0], result: JSON.stringify(result) };
  }

  test('shows a form in Japanese, takes its answer, and gives the agent English', async () => {
    const accept = 'サーバー "wiki" を作成する（料金が発生します）';
    const { form, result } = await ask('restore_instance', { ...restore, allowRepeat: true }, { decision: accept });
    expect(form).toMatchObject({
      message: expect.stringMatching(
        /^DevOps サーバー "wiki"（200 GB、e-large）.*作成します.*。よろしいですか？\n料金が発生します。/,
      ),
      requestedSchema: {
        properties: {
          decision: { title: '決定', enum: [accept, '却下する'], default: accept },
          reason: { title: '理由（却下する場合）' },
        },
      },
    });
    expect(result).toContain('The cloud accepted the restore of DevOps server');
    expect(result).not.toMatch(japanese);
  });

  test('asks for the name of what is deleted, which is typed as it is', async () => {
    const { form, result } = await ask('abort_multipart_upload', { bucket, object, uploadId });
    expect(form).toMatchObject({
      message: expect.stringContaining('この操作は取り消せません。'),
      requestedSchema: { properties: { name: { title: `入力：${object}` } } },
    });
    expect(result).not.toMatch(japanese);
  });
});

test('the question at a terminal is in Japanese and fits, and the same words are typed', async () => {
  const typed = [
    [`"${object}" と入力してください`, 'another\n'],
    ['入力が一致しません。', 'no\n'],
    ['理由', 'まだ必要\n'],
  ] as const;
  const call = ['call', 'abort_multipart_upload', JSON.stringify({ bucket, object, uploadId })];
  const { code, lines } = await onTerminal(call, 80, { env, typed });
  expect(code).toBe(3);
  expect(lines).toContain('実行内容：');
  expect(lines).toContain(`実行するには "${object}" と入力してください`);
  expect(lines.join('\n')).toMatch(/のアップロードを中止します。\nよろしいですか？\n受信中の可能性があります：/);
  for (const line of lines.filter((each) => japanese.test(each))) expect(widthOf(line), line).toBeLessThanOrEqual(80);
  if (process.env.GALLERY !== undefined) process.stdout.write(`${lines.join('\n')}\n`);
});
