import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';
import packageJson from '../package.json' with { type: 'json' };
import { seededBackupId } from '../sandbox/devops.js';
import { seededUpload } from '../sandbox/sandbox.js';
import { columnsOf, wrapped } from '../src/cli/layout.js';
import { exact, say } from '../src/util/safe-text.js';

/**
 * Starts the server on its sandbox as a host would, connects an MCP client, and prints each call with the answer that an agent reads.
 */

interface Scene {
  readonly title: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Set if the call must be refused. */
  readonly mistake?: true;
}

const placement = { region: 'jp-east-1', availabilityZone: 'east-11' };
const volume = { volumeType: 'standard-flash-storage-a', volumeSize: 100 };
const expectedParts = 16;

const scenes: readonly Scene[] = [
  {
    title: 'How far is this upload?',
    tool: 'list_parts',
    args: {
      bucket: seededUpload.bucket,
      object: seededUpload.key,
      uploadId: seededUpload.uploadId,
      expectedParts,
    },
  },
  {
    title: 'Restore a server from a backup: the user sees the plan and agrees',
    tool: 'restore_instance',
    args: { backupId: seededBackupId, instanceId: 'restored-server', diskSize: 200 },
  },
  {
    title: 'Upgrade a cluster',
    tool: 'upgrade_kube_version',
    args: { resourceGroupName: 'demo-group', clusterName: 'demo-user', version: '1.34.2-sandbox' },
  },
  {
    title: 'Set up a resource group for Kubernetes',
    tool: 'provision_kube_resource_group',
    args: {
      resourceGroupName: 'team-blue',
      regions: ['jp-east-1'],
      availabilityZones: ['east-11'],
      resourceNamePrefix: 'blue',
      deploymentModel: 'standalone',
      externalCloudConfig: { serviceAccountKey: '{"project_id":"demo-project"}', location: 'asia-northeast1' },
      adminWorkstation: { ...placement, ...volume, instanceType: 'h2-medium4', keyName: 'demo-key' },
      adminCluster: {
        name: 'blue-admin',
        keyName: 'demo-key',
        controlPlane: { ...placement, ...volume, instanceType: 'h2-large16', nodeCount: 3 },
        nodePools: [{ ...placement, ...volume, name: 'workers', instanceType: 'h2-large32', nodeCount: 2 }],
      },
    },
  },
  {
    title: 'A call with mistakes: nothing is sent, and all of them are explained at once',
    tool: 'restore_instance',
    args: { backupId: seededBackupId, instanceId: 'Restored_Server', instanceType: 'e-large20', disksize: 250 },
    mistake: true,
  },
];

const columns = columnsOf(process.stdout);
const style = (format: Parameters<typeof styleText>[0], text: string) =>
  process.stdout.isTTY && !process.env.NO_COLOR ? styleText(format, text) : text;
const shortened = (line: string, length: number) => (line.length > length ? `${line.slice(0, length - 1)}…` : line);
// A recording has no terminal width.
const width = Math.min(columns, 120);
const print = (line = '') => process.stdout.write(`${line}\n`);

/** Columns before each line. */
const margin = 4;

/** The number of lines shown of a question and of an answer. */
const [questionLines, answerLines] = [8, 8];

/** Prints one call and its answer. Resolves with true if it ended as expected. */
async function play(client: Client, { title, tool, args, mistake }: Scene): Promise<boolean> {
  print(style('bold', title));
  print(style('cyan', shortened(`  → ${tool} ${JSON.stringify(args)}`, width)));
  const result = await client.callTool({ name: tool, arguments: args });
  const failed = result.isError === true;
  const text = result.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n');
  const upload = tool === 'list_parts' ? uploadBar(result.structuredContent) : [];
  // The first paragraph is the outcome. The second paragraph of a refusal lists corrections.
  const paragraphs = text.split('\n\n').slice(0, failed ? 2 : 1);
  const said = paragraphs.flatMap((paragraph) => paragraph.split('\n'));
  const lines = [...upload, ...said.flatMap((line) => wrapped(say`${exact(line)}`, width - margin))];
  for (const line of lines.slice(0, answerLines)) print(`  ${style(failed ? 'red' : 'green', '←')} ${line}`);
  print();
  return failed === (mistake === true);
}

const answer = z.object({ answer: z.object({ runs: z.array(z.object({ from: z.number(), to: z.number() })) }) });

/** A bar of the upload's parts: uploaded, missing between others, still to come. */
function uploadBar(structured: unknown): string[] {
  const parsed = answer.safeParse(structured);
  if (!parsed.success) return [];
  const { runs } = parsed.data.answer;
  const isUploaded = (part: number) => runs.some(({ from, to }) => from <= part && part <= to);
  const highest = Math.max(0, ...runs.map(({ to }) => to));
  const cells = Array.from({ length: expectedParts }, (_, index) => {
    if (isUploaded(index + 1)) return style('green', '██');
    return index < highest ? style('red', '░░') : style('dim', '··');
  });
  return [cells.join(' '), '█ uploaded  ░ missing  · to come'];
}

const form = z.object({
  requestedSchema: z.object({ properties: z.object({ decision: z.object({ enum: z.array(z.string()) }) }) }),
});

/** The choice that accepts. */
const acceptOf = (params: unknown) => form.parse(params).requestedSchema.properties.decision.enum[0] ?? '';

/** Matches the outcome and the sentence of a change in the journal resource. */
const journalEntry = /^- \S+ {2}([a-z ]+) {2}"?\w+"?: ("(?:[^"\\]|\\.)*")/;

/** Time before the user answers. The server treats a faster answer as a program's. */
const readMs = 1500;

async function demo(): Promise<number> {
  const state = await mkdtemp(join(tmpdir(), 'cloudops-demo-'));
  const client = new Client(
    { name: 'cloudops-demo', version: packageJson.version },
    { capabilities: { elicitation: { form: {} } } },
  );
  let asked = 0;
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked += 1;
    const lines = params.message
      .split('\n')
      .flatMap((line) => (line === '' ? [] : wrapped(say`${exact(line)}`, width - margin)));
    if (asked === 1) for (const line of lines.slice(0, questionLines)) print(`  ${style('yellow', '?')} ${line}`);
    const accept = acceptOf(params);
    await delay(readMs);
    print(`  ${style('yellow', '?')} The user chooses: ${accept}`);
    return { action: 'accept', content: { decision: accept } };
  });
  const server = fileURLToPath(new URL('./main.js', import.meta.url));
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [server, '--sandbox'],
      env: { CLOUDOPS_LOG_LEVEL: 'warn', CLOUDOPS_JOURNAL: join(state, 'journal.db') },
      stderr: 'inherit',
    }),
  );
  try {
    print(style('bold', `cloudops-mcp ${packageJson.version}`));
    print('On its built-in sandbox: no account, no cost, nothing leaves this machine.');
    print();
    const asExpected: boolean[] = [];
    for (const scene of scenes) asExpected.push(await play(client, scene));
    print(style('bold', 'The journal has every change and its outcome'));
    const { contents } = await client.readResource({ uri: 'cloudops://journal' });
    const entries = contents.flatMap((content) => ('text' in content ? content.text.split('\n') : []));
    for (const [, outcome = '', what = ''] of entries.map((entry) => journalEntry.exec(entry) ?? []))
      if (what !== '') print(shortened(`  ${outcome}  ${JSON.parse(what)}`, width));
    print();
    const passed = asExpected.every(Boolean);
    print(passed ? 'To use it in your own client, see the README.' : 'A call did not end as expected.');
    return passed ? 0 : 1;
  } finally {
    await client.close();
    await rm(state, { recursive: true, force: true });
  }
}

process.exitCode = await demo();
