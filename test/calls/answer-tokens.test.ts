import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { unendedAnswer } from '../../src/calls/plan-status.js';
import { plainResult, resultText } from '../../src/calls/result-text.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { words } from '../../src/util/safe-text.js';
import { connectInProcess } from '../support/in-process.js';

/** The tokens (o200k) that an agent reads before it has done anything, and for each plan. */

const count = (value: unknown) => encode(typeof value === 'string' ? value : JSON.stringify(value)).length;

let session: Awaited<ReturnType<typeof connectInProcess>>;
beforeAll(async () => {
  session = await connectInProcess(
    { pin: '2026-07-28' },
    { readOnly: false, tools: undefined, extensions: ['s3'] },
    { confirm: 'plan' },
  );
});
afterAll(() => session.close());

test('the six tools take 3,000 tokens, and 4,600 on the wire', async () => {
  const { tools } = await session.client.listTools();
  expect(tools).toHaveLength(6);
  const read = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  process.stdout.write(`tokens of tools/list: ${count(read)} read, ${count(tools)} on the wire\n`);
  expect(count(read)).toBeLessThanOrEqual(3000);
  expect(count(tools)).toBeLessThanOrEqual(4600);
});

test('the first answer with a plan takes 450 tokens, as text and as data', async () => {
  const { content, structuredContent } = await session.client.callTool({
    name: 'restore_instance',
    arguments: { backupId: seededBackupId, instanceId: 'wiki', diskSize: 200 },
  });
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  process.stdout.write(`tokens of a plan: text ${count(text)}, data ${count(structuredContent)}\n`);
  expect(structuredContent).toMatchObject({ outcome: 'planned', planId: expect.any(String) });
  expect(Math.max(count(text), count(structuredContent))).toBeLessThanOrEqual(450);
});

test('the state of a plan takes 150 tokens, as text and as data', () => {
  const claims = { use: 'handle', digest: '0123456789abcdef'.repeat(2), nonce: '0123456789abcdef' } as const;
  const planId = createConsentTokens(
    () => ['k'.repeat(32)],
    '',
    () => new Date('2026-11-20T12:00:00Z'),
  ).issue(claims);
  const waits = {
    whom: words('a person on the page'),
    decideAt: 'https://mcp.example.com/decisions/abcdefghijklmnop/',
  };
  const expiresAt = Date.parse('2026-11-20T12:10:00Z');
  const state = { kind: 'waiting', isStored: true, isRedeemable: false, expiresAt } as const;
  const outcome = unendedAnswer('restore_instance', planId, state, waits);
  if (outcome.kind === 'failed') throw new Error('it failed');
  const [text, data] = [count(resultText(outcome.success)), count(plainResult(outcome.success))];
  process.stdout.write(`tokens of a state: text ${text}, data ${data}\n`);
  expect(Math.max(text, data)).toBeLessThanOrEqual(150);
});
