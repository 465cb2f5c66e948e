import type { ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { memoryStore } from '../support/caller.js';
import { connectInProcess, eras, type SessionOptions } from '../support/in-process.js';
import { uploadArguments as upload } from '../support/sandbox.js';

/** What real clients taught, each rule under the name of the client that it comes from. docs/CLIENTS.md has the clients themselves. */

const restore = { backupId: seededBackupId, instanceId: 'wiki', diskSize: 200 };
const place = {
  region: 'jp-east-1',
  availabilityZone: 'east-11',
  volumeType: 'standard-flash-storage-a',
  volumeSize: 100,
};
const provision = {
  resourceGroupName: 'team-blue',
  resourceNamePrefix: 'blue',
  regions: ['jp-east-1'],
  availabilityZones: ['west-11'],
  adminWorkstation: { ...place, instanceType: 'h2-medium4', keyName: 'k' },
  adminCluster: {
    controlPlane: { ...place, instanceType: 'h2-large16', nodeCount: 3 },
    nodePools: [
      { ...place, name: 'a', instanceType: 'h2-large32', nodeCount: 2 },
      { ...place, name: 'a', instanceType: 'h2-large16', nodeCount: 5 },
    ],
  },
};
const upgrade = { resourceGroupName: 'demo-group', clusterName: 'demo-user', version: '1.34.2' };
const changes = [
  ['restore_instance', restore],
  ['provision_kube_resource_group', provision],
  ['upgrade_kube_version', upgrade],
] as const;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of open.splice(0)) await close();
});

async function connect(era: (typeof eras)[number][1], options: SessionOptions = {}) {
  const session = await connectInProcess(era, undefined, options);
  open.push(session.close);
  const call = async (name: string, args: Record<string, unknown>) => {
    const {
      structuredContent = {},
      content,
      isError = false,
    } = await session.client.callTool({ name, arguments: args });
    const [block] = content;
    const text = block?.type === 'text' ? block.text : '';
    return { isError, text, structured: structuredContent as Record<string, unknown> };
  };
  return { ...session, call };
}

/** The choices of a question, the one that agrees first. */
const choicesOf = ({ requestedSchema }: ElicitRequestFormParams) => {
  const { decision } = requestedSchema.properties;
  return decision !== undefined && 'enum' in decision ? (decision.enum ?? []) : [];
};

describe.each(eras)('%s', (_name, era) => {
  /** The question that a change asks. */
  const questionOf = async (tool: string, args: Record<string, unknown>) => {
    const asked: ElicitRequestFormParams[] = [];
    const answer = (question: ElicitRequestFormParams): ElicitResult => {
      asked.push(question);
      return { action: 'decline' };
    };
    const { call } = await connect(era, { confirm: 'ask', answer });
    const { text } = await call(tool, args);
    const [question] = asked;
    if (question === undefined) throw new Error(`nobody was asked: ${text}`);
    return question;
  };

  describe('Claude Code shows three lines of a question, Codex as many as fit a small terminal', () => {
    test.each([
      [
        'restore_instance',
        restore,
        [restore.instanceId, '200 GB', 'e-large', 'jp-east-1', seededBackupId, 'costs money'],
      ],
      [
        'provision_kube_resource_group',
        provision,
        ['team-blue', 'jp-east-1', '11 servers', 'Control plane: 3 ×', '"a" 5 ×', 'cost money'],
      ],
      ['upgrade_kube_version', upgrade, ['demo-user', 'demo-group', '1.34.2']],
    ])('%s: the decision is in what is seen, and every fact of it in the question', async (tool, args, decision) => {
      const { message } = await questionOf(tool, args);
      for (const fact of decision) expect(message).toContain(fact);
      const seen = message.split('\n').slice(0, 3);
      for (const line of seen) expect(line.length, line).toBeLessThanOrEqual(70);
      expect(seen.join(' ')).toMatch(
        /^[A-Z].*\? (It costs money|This cannot be undone)\. .*jp-east-1.* account \w+\.$/,
      );
    });

    test.each(changes)('a question of %s has at most eight more lines', async (tool, args) => {
      expect((await questionOf(tool, args)).message.split('\n').length).toBeLessThanOrEqual(9);
    });

    test('everything that costs is in the question', async () => {
      const { message } = await questionOf('provision_kube_resource_group', provision);
      for (const cost of ['h2-medium4', '3 × h2-large16', '"a" 2 × h2-large32', '"a" 5 × h2-large16', 'load balancer'])
        expect(message).toContain(cost);
    });
  });

  test.each(changes)('the Inspector joins lines: each line of %s is a sentence of its own', async (tool, args) => {
    for (const line of (await questionOf(tool, args)).message.split('\n')) expect(line).toMatch(/[.?]$/);
  });

  test.each(changes)(
    'Claude Code shows a box to tick beside a button: %s is one choice, in words',
    async (tool, args) => {
      const question = await questionOf(tool, args);
      expect(question.requestedSchema.required).toEqual(['decision']);
      const [agree, ...others] = choicesOf(question);
      expect(agree).toMatch(
        /^(Create server "wiki" \(costs money\)|Set up "team-blue" \(costs money\)|Upgrade cluster "demo-user" \(no way back\))$/,
      );
      expect(others).toEqual(['Do nothing']);
      expect(question.requestedSchema.properties.decision).toMatchObject({ default: agree });
    },
  );

  test.each([
    ['without the field', {}],
    ['with another answer', { decision: 'Yes' }],
  ])(
    'the Inspector sends a form that was not filled in (%s): nobody was asked, and the plan is shown instead',
    async (_what, content) => {
      let now = Date.parse('2026-11-20T12:00:00Z');
      const answer = (): ElicitResult => {
        now += 5000;
        return { action: 'accept', content };
      };
      const { call, sandbox } = await connect(era, { confirm: 'ask', answer, now: () => new Date(now) });
      const { structured } = await call('restore_instance', restore);
      expect(structured).toMatchObject({ outcome: 'planned', changeId: expect.any(String) });
      expect(await sandbox.describe()).not.toContain('instances:restore');
    },
  );

  test.each([
    ['claude -p cancels', 'cancel'],
    ['codex exec declines', 'decline'],
  ] as const)('%s within milliseconds: the answer says that nobody was asked', async (_client, action) => {
    let now = Date.parse('2026-11-20T12:00:00Z');
    const store = memoryStore(() => new Date(now));
    const answer = (): ElicitResult => {
      now += 12;
      return { action };
    };
    const { call } = await connect(era, { confirm: 'ask', store, answer, now: () => new Date(now) });
    const { isError, structured } = await call('restore_instance', restore);
    expect(isError).toBe(true);
    expect(structured).toMatchObject({ code: 'NobodyAsked', mayHaveHappened: false });
    expect(structured.problems).toContain('the client answered it after 12 ms');
    expect(structured.next).toMatchObject({ who: 'agent', text: expect.stringContaining('is not asked again') });
    const decision = { kind: 'withdrawn', way: 'program', answeredAfterMs: 12 };
    expect(await store.newest({ limit: 10 })).toMatchObject([{ decision }]);
  });

  test.each([
    ['a success', 'list_parts', upload],
    ['a plan', 'restore_instance', { ...restore, planOnly: true }],
    ['a change', 'restore_instance', restore],
    ['an error of the service', 'list_parts', { ...upload, uploadId: 'unknown' }],
    ['a refusal', 'restore_instance', { ...restore, backupId: 'short' }],
  ])('Codex and Claude Code hand on the structure alone: summary comes first in %s', async (_what, tool, args) => {
    const { call } = await connect(era);
    const { structured } = await call(tool, args);
    expect(Object.keys(structured)[0]).toBe('summary');
    expect(structured.summary).toMatch(/\.$/);
    expect(structured.next).toMatchObject({ text: expect.stringMatching(/\.$/) });
  });

  test.each([
    ['Gemini CLI', { wait_for_previous: true }],
    ['n8n', { toolCallId: 'call_1' }],
  ])('%s adds arguments to every call: they are left out', async (_client, added) => {
    const { call } = await connect(era);
    expect((await call('list_parts', { ...upload, ...added })).isError).toBe(false);
  });

  test('n8n adds fields of its workflow: only n8n may', async () => {
    const added = { sessionId: 's', action: 'sendMessage', chatInput: 'hello', tool: { name: 'list_parts' } };
    const n8n = await connect(era, { clientName: '@n8n/n8n-nodes-langchain.mcpClientTool' });
    expect((await n8n.call('list_parts', { ...upload, ...added, toolCallId: 'call_1' })).isError).toBe(false);
    const { structured } = await (await connect(era)).call('list_parts', { ...upload, ...added });
    expect(structured.problems).toHaveLength(Object.keys(added).length);
  });

  test('the tools of changes name problems as all tools do', async () => {
    const { call } = await connect(era);
    const problemsOf = async (args: Record<string, unknown>) => (await call('get_change', args)).structured.problems;
    expect(await problemsOf({})).toEqual(['changeId: is required']);
    expect(await problemsOf({ changeId: 5, field: ['a'] })).toEqual([
      'changeId: 5 must be a string, in quotation marks',
      'field: is not an argument; did you mean fields?',
    ]);
    expect(await problemsOf({ changeId: 'x'.repeat(101) })).toEqual([
      expect.stringMatching(/^changeId: "x.* must have at most 100 characters$/),
    ]);
  });

  test('nulls in JSON text count as absent, too', async () => {
    const { call } = await connect(era);
    const networkConfig = JSON.stringify({ networkId: null });
    expect((await call('restore_instance', { ...restore, networkConfig, planOnly: true })).isError).toBe(false);
  });

  test('anything else unknown is refused', async () => {
    const { call } = await connect(era);
    const { structured } = await call('list_parts', { ...upload, wait_for_next: true });
    expect(structured.code).toBe('InvalidArguments');
    expect(structured.problems).toEqual([expect.stringContaining('wait_for_next')]);
  });

  test('Codex sends null for what it leaves out', async () => {
    const { call } = await connect(era);
    expect((await call('list_parts', { ...upload, expectedBytes: null, region: null })).isError).toBe(false);
    const given = { ...restore, description: null, networkConfig: { networkId: null }, planOnly: true, replaces: null };
    expect((await call('restore_instance', given)).isError).toBe(false);
    expect((await call('restore_instance', { ...restore, backupId: null })).structured.problems).toEqual([
      'backupId: is required',
    ]);
  });

  test('Gemini refuses enumerations of numbers, and models read every argument', async () => {
    const { client } = await connect(era);
    const { tools } = await client.listTools();
    const schemas = tools.flatMap(({ name, inputSchema }) =>
      schemasOf(inputSchema).map(([path, schema]) => ({ at: `${name} ${path}`, path, schema })),
    );
    for (const { at, schema } of schemas.filter(({ path }) => path !== '$' && !path.endsWith('[]')))
      expect(schema.description, at).toMatch(/\S/);
    for (const { at, schema } of schemas)
      expect(
        [schema.enum ?? []].flat().filter((value) => typeof value !== 'string'),
        at,
      ).toEqual([]);
  });

  test('Qwen Code cuts descriptions after 150 characters: by then the point is made', async () => {
    const { client } = await connect(era);
    const { tools } = await client.listTools();
    expect(
      Object.fromEntries(tools.map(({ name, description = '' }) => [name, description.slice(0, 150)])),
    ).toMatchObject({
      list_parts: expect.stringMatching(/multipart upload to object storage has received/),
      provision_kube_resource_group: expect.stringMatching(/^Sets up a Kubernetes resource group.*admin cluster/),
      upgrade_kube_version: expect.stringMatching(/^Upgrades one Kubernetes cluster .*no way back/),
      restore_instance: expect.stringMatching(/^Creates a new DevOps server .* from a backup\. It costs money/),
    });
  });

  test('Claude Code searches the instructions for tools: they begin with what the server is for', async () => {
    const { client } = await connect(era);
    const [first = ''] = client.getInstructions()?.split('\n') ?? [];
    for (const word of [
      'cloud',
      'upload',
      'object storage',
      'S3',
      'Kubernetes',
      'DevOps',
      'backup',
      'restore',
      'upgrade',
    ])
      expect(first).toContain(word);
  });

  test('agents expect too few parts: the contradiction is said, and no percentage is made of it', async () => {
    const { call } = await connect(era);
    const { structured } = await call('list_parts', { ...upload, expectedParts: 12 });
    expect(structured.summary).toMatch(/more than expected: check that figure and the upload ID/);
    expect(structured.summary).not.toMatch(/%|still to come/);
    expect(structured.answer).not.toHaveProperty('percent');
  });

  test('the Inspector lists titles: those of resources are short, and each has a description', async () => {
    const { client } = await connect(era);
    const { resources } = await client.listResources();
    for (const { name, title = '', description = '' } of resources) {
      expect(title.length, name).toBeGreaterThan(0);
      expect(title.length, name).toBeLessThanOrEqual(40);
      expect(description.length, name).toBeGreaterThan(title.length);
    }
  });

  test.each(['cloudops://nothing', 'cloudops://reference/nothing'])(
    'mcporter shows the message alone: %s is not found',
    async (uri) => {
      const { client } = await connect(era);
      await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
    },
  );

  test('opencode shows progress: a change is not "1 page read"', async () => {
    const { client } = await connect(era);
    const messages: unknown[] = [];
    await client.callTool(
      { name: 'restore_instance', arguments: restore },
      { onprogress: ({ message }) => messages.push(message) },
    );
    expect(messages).toEqual([]);
  });
});

test('Claude Code resets its time-out with progress: it comes every ten seconds while a person reads', async () => {
  const messages: unknown[] = [];
  const answer = (): ElicitResult => {
    vi.advanceTimersByTime(35_000);
    return { action: 'decline' };
  };
  const { client } = await connect('legacy', { confirm: 'ask', answer });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  await client.callTool(
    { name: 'restore_instance', arguments: restore },
    { onprogress: ({ message }) => messages.push(message) },
  );
  expect(messages).toEqual(Array(3).fill('waiting for the answer of the user'));
});

/** Every schema inside a schema, with its path. */
function schemasOf(schema: unknown, path = '$'): [string, Record<string, unknown>][] {
  if (typeof schema !== 'object' || schema === null) return [];
  const node: Record<string, unknown> = { ...schema };
  const inner = Object.entries({
    ...Object(node.properties),
    ...(node.items === undefined ? {} : { '[]': node.items }),
  });
  return [[path, node], ...inner.flatMap(([name, value]) => schemasOf(value, `${path}.${name}`))];
}
