import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { plainResult, resultText } from '../../src/calls/result-text.js';
import { changeToolNames } from '../../src/mcp/server-tools.js';
import { changeIdOf, changer, successOf } from '../support/changer.js';
import { connectInProcess } from '../support/in-process.js';
import { pageOf } from '../support/told.js';

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

test.each([
  ['the seven operations take 3,250 tokens, and 5,000 on the wire', false, 7, 3250, 5000],
  ['the three tools of changes take 350 tokens, and 600 on the wire', true, 3, 350, 600],
])('%s', async (_what, isOfChanges, length, read, onWire) => {
  const { tools } = await session.client.listTools();
  const listed = tools.filter(({ name }) => changeToolNames.includes(name) === isOfChanges);
  expect(listed).toHaveLength(length);
  const shown = listed.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  process.stdout.write(`tokens of ${length} tools: ${count(shown)} read, ${count(listed)} on the wire\n`);
  expect(count(shown)).toBeLessThanOrEqual(read);
  expect(count(listed)).toBeLessThanOrEqual(onWire);
});

test('the first answer with a plan takes 450 tokens, as text and as data', async () => {
  const { content, structuredContent } = await session.client.callTool({
    name: 'restore_instance',
    arguments: { backupId: seededBackupId, instanceId: 'wiki', diskSize: 200 },
  });
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  process.stdout.write(`tokens of a plan: text ${count(text)}, data ${count(structuredContent)}\n`);
  expect(structuredContent).toMatchObject({ outcome: 'planned', changeId: expect.any(String) });
  expect(Math.max(count(text), count(structuredContent))).toBeLessThanOrEqual(450);
});

test('the state of a plan takes 150 tokens, as text and as data', async () => {
  const { given: page } = pageOf('signIn');
  const { call, get, close } = changer({ confirm: 'approval', ...(page !== undefined && { page }) });
  const outcome = await get(changeIdOf(await call()));
  await close();
  const success = successOf(outcome);
  expect(success).toMatchObject({ outcome: 'waiting', decideAt: expect.any(String) });
  const [text, data] = [count(resultText(success)), count(plainResult(success))];
  process.stdout.write(`tokens of a state: text ${text}, data ${data}\n`);
  expect(Math.max(text, data)).toBeLessThanOrEqual(150);
});
