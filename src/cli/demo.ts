import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import packageJson from '../../package.json' with { type: 'json' };
import { seededBackupId } from '../sandbox/devops.js';
import { seededUpload } from '../sandbox/sandbox.js';

/**
 * Shows newcomers what an agent sees: starts the server on its sandbox as a host would, connects a real MCP client,
 * and prints every call with its answer.
 */

interface Scene {
  readonly title: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

const placement = { region: 'jp-east-1', availabilityZone: 'east-11' };
const volume = { volumeType: 'standard-flash-storage-a', volumeSize: 100 };

const scenes: readonly Scene[] = [
  {
    title: 'Which parts has this upload received so far?',
    tool: 'list_parts',
    args: { bucket: seededUpload.bucket, object: seededUpload.key, uploadId: seededUpload.uploadId },
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
    title: 'Upgrade a cluster',
    tool: 'upgrade_kube_version',
    args: { resourceGroupName: 'demo-group', clusterName: 'demo-user', version: '1.34.2-sandbox' },
  },
  {
    title: 'Restore a DevOps server from a backup',
    tool: 'restore_instance',
    args: {
      backupId: seededBackupId,
      instanceId: 'restored-server',
      diskSize: 200,
      description: 'restored for a test',
    },
  },
];

const mistake: Scene = {
  title: 'A mistake: nothing is sent, and every problem is explained at once',
  tool: 'restore_instance',
  args: { backupId: seededBackupId, instanceId: 'Restored_Server', instanceType: 'e-large20', disksize: 250 },
};

const coloured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const style = (format: Parameters<typeof styleText>[0], text: string) => (coloured ? styleText(format, text) : text);
const print = (line = '') => process.stdout.write(`${line}\n`);

/** Long answers are cut in the middle: what happened is at the beginning, the outcome at the end. */
const [firstLines, lastLines] = [14, 3];
const questionLines = 9;

/** Prints one call and its answer. Resolves with whether the answer was an error. */
async function play(client: Client, { title, tool, args }: Scene, number: number): Promise<boolean> {
  print(style('bold', `${number}. ${title}`));
  print(`   ${style('cyan', tool)} ${style('dim', JSON.stringify(args))}`);
  const result = await client.callTool({ name: tool, arguments: args });
  const failed = result.isError === true;
  const lines = result.content.flatMap((block) => (block.type === 'text' ? block.text.split('\n') : []));
  const bar = style(failed ? 'red' : 'green', '│');
  const cut = Math.max(0, lines.length - firstLines - lastLines);
  for (const line of lines.slice(0, firstLines)) print(`   ${bar} ${line}`);
  if (cut > 0) print(`   ${bar} ${style('dim', `… ${cut} more lines …`)}`);
  for (const line of lines.slice(firstLines + cut)) print(`   ${bar} ${line}`);
  print();
  return failed;
}

async function demo(): Promise<number> {
  const client = new Client(
    { name: 'cloudops-demo', version: packageJson.version },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => {
    const question = [
      'The server asks the user, who sees the exact plan, and here agrees:',
      ...params.message.split('\n'),
    ];
    for (const line of [...question.slice(0, questionLines), '…']) print(`   ${style('yellow', '?')} ${line}`);
    return { action: 'accept', content: { agree: true } };
  });
  const server = fileURLToPath(new URL('./main.js', import.meta.url));
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [server, '--sandbox', '--log-level', 'warn'],
      stderr: 'inherit',
    }),
  );
  try {
    const { tools } = await client.listTools();
    print(
      `cloudops-mcp ${packageJson.version}, started on its built-in sandbox: no account, no cost, nothing leaves this machine.`,
    );
    print(`An agent sees ${tools.length} tools: ${tools.map((tool) => tool.name).join(', ')}.`);
    print(
      'Below, an MCP client calls each of them. What an agent sends comes first, what it reads back after the bar.',
    );
    print();
    const failed: boolean[] = [];
    for (const [index, scene] of [...scenes, mistake].entries()) failed.push(await play(client, scene, index + 1));
    const asExpected = failed.pop() === true && !failed.includes(true);
    print(asExpected ? 'To use it in your own client, see the README.' : 'A call did not go as it should have.');
    return asExpected ? 0 : 1;
  } finally {
    await client.close();
  }
}

process.exitCode = await demo();
