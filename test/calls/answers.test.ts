import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { operations } from '../../src/tools/index.js';
import { missingFrom } from '../support/facts.js';
import { connectInProcess, eras } from '../support/in-process.js';
import { uploadArguments as upload } from '../support/sandbox.js';

/** What hosts and agents read: one answer of each kind, in both protocol eras, kept in files that people review. */

const placement = {
  region: 'jp-east-1',
  availabilityZone: 'east-11',
  volumeType: 'standard-flash-storage-a',
  volumeSize: 100,
};

/** In this order: a later call builds on what an earlier one did. */
const calls = {
  'list-parts-summary': ['list_parts', { ...upload, expectedParts: 16 }],
  'list-parts-page': ['list_parts', { ...upload, maxParts: 3, partNumberMarker: 3 }],
  provision: [
    'provision_kube_resource_group',
    {
      resourceGroupName: 'team-blue',
      resourceNamePrefix: 'blue',
      externalCloudConfig: {
        serviceAccountKey: '{"project_id":"demo","private_key":"MARKER"}',
        location: 'asia-northeast1',
      },
      adminCluster: {
        name: 'blue-admin',
        controlPlane: { ...placement, instanceType: 'h2-large16', nodeCount: 3 },
        nodePools: [{ ...placement, name: 'workers', instanceType: 'h2-large32', nodeCount: 2 }],
      },
    },
  ],
  upgrade: ['upgrade_kube_version', { resourceGroupName: 'demo-group', clusterName: 'demo-user', version: '1.34.2' }],
  restore: [
    'restore_instance',
    { backupId: seededBackupId, instanceId: 'restored', description: 'a "quoted"\nmemo \u202e' },
  ],
  plan: [
    'restore_instance',
    { backupId: seededBackupId, instanceId: 'planned', availabilityZone: 'west-12', planOnly: true },
  ],
  'error-repeated': [
    'upgrade_kube_version',
    { resourceGroupName: 'demo-group', clusterName: 'demo-user', version: '1.34.2' },
  ],
  'error-validation': ['restore_instance', { backupId: 'short', instanceid: 'x', instanceType: 'e-large20' }],
  'error-of-the-service': ['list_parts', { ...upload, uploadId: 'unknown' }],
  'error-conflict': ['restore_instance', { backupId: seededBackupId, instanceId: 'restored' }],
} as const;

/** The answers that are kept as structures, which name what their texts lay out for people. All others are kept as texts. */
const structures: readonly string[] = ['plan', 'error-of-the-service'];

/** One file for both eras: they say the same. */
const golden = (name: string) => fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));

interface Answer {
  readonly text: string;
  readonly structured: Record<string, unknown> | undefined;
}

describe.each(eras)('%s', (eraName, era) => {
  let session: Awaited<ReturnType<typeof connectInProcess>>;
  const answers = new Map<string, Answer>();
  let tools: Awaited<ReturnType<typeof session.client.listTools>>['tools'] = [];

  beforeAll(async () => {
    session = await connectInProcess(era);
    tools = (await session.client.listTools()).tools;
    for (const [name, [tool, args]] of Object.entries(calls)) {
      const result = await session.client.callTool({ name: tool, arguments: args });
      const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
      // The sandbox listens on a port of its own each time, and a changeId is random.
      const masked = JSON.parse(
        JSON.stringify({ text, structured: result.structuredContent })
          .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:1')
          .replace(/(changeId(?:": ?"|: ))[\w-]{22}/g, '$1<22 characters>'),
      );
      answers.set(name, masked as Answer);
    }
  });
  afterAll(() => session.close());

  test('tools/list is as reviewed', async () => {
    await expect(`${JSON.stringify(tools, null, 2)}\n`).toMatchFileSnapshot(golden('tools-list'));
  });

  test.each(Object.keys(calls))('the answer %s is as reviewed', async (name) => {
    const { text = '', structured } = answers.get(name) ?? {};
    const shown = structures.includes(name) ? JSON.stringify(structured, null, 2) : text;
    await expect(`${shown}\n`).toMatchFileSnapshot(golden(name));
    expect(text + JSON.stringify(structured)).not.toContain('MARKER');
  });

  test('the four tools of the cloud and two of changes take 3,800 tokens of tools/list', () => {
    const tokens = (value: unknown) => encode(JSON.stringify(value)).length;
    const table = tools.map((tool) => `${tool.name} ${tokens(tool)}`).join(', ');
    process.stdout.write(`tokens of tools/list (${eraName}): ${tokens(tools)} (${table})\n`);
    expect(tools).toHaveLength(6);
    expect(tokens(tools)).toBeLessThanOrEqual(3800);
  });

  test('every input schema has at most 5,000 bytes: Codex drops the descriptions of larger ones', () => {
    for (const { name, inputSchema } of tools)
      expect(Buffer.byteLength(JSON.stringify(inputSchema)), name).toBeLessThanOrEqual(5000);
  });

  const successes = Object.entries(calls).filter(([name]) => !name.startsWith('error'));
  test.each(successes)('the structured answer %s satisfies the schema that its tool advertises', (name, [tool]) => {
    const schema = tools.find((candidate) => candidate.name === tool)?.outputSchema;
    const satisfies = new Ajv2020().compile(JSON.parse(JSON.stringify(schema)));
    expect(satisfies(answers.get(name)?.structured), JSON.stringify(satisfies.errors)).toBe(true);
  });

  test.each(successes)('the text of %s alone carries every fact of the structured answer', (name) => {
    const { text = '', structured } = answers.get(name) ?? {};
    expect(missingFrom(text, structured)).toEqual([]);
  });

  test.each(Object.keys(calls).filter((name) => name.startsWith('error')))(
    'the error %s has the shape of every error, and its text carries every fact',
    (name) => {
      const { text = '', structured } = answers.get(name) ?? {};
      const [tool] = calls[name as keyof typeof calls];
      const reads = operations.find((operation) => operation.name === tool)?.effect === 'read';
      expect(structured).toMatchObject({
        summary: expect.any(String),
        code: expect.any(String),
        problems: expect.any(Array),
        next: { who: expect.any(String), action: expect.any(String), text: expect.any(String) },
        requestIds: expect.any(Object),
        ...(!reads && { mayHaveHappened: expect.any(Boolean) }),
      });
      expect(missingFrom(text, structured)).toEqual([]);
    },
  );
});
