import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { startSandbox } from '../../sandbox/sandbox.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { readAsAPerson } from '../support/person.js';
import { agents } from './agents.js';
import { clients, installClient, serverPath } from './client.js';
import { openScreen } from './screen.js';
import { ofLastChange, type ScriptedCall } from './scripted-model.js';
import { startSession } from './session.js';

/** Agents with a person in front of a terminal of 80 columns: what stands on the screen, and what a key does. */

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const agentOf = (name: keyof typeof clients) => {
  const agent = agents.find(({ client }) => client === name);
  if (agent === undefined) throw new Error(`${name} is none of the agents`);
  return agent;
};
async function start(name: keyof typeof clients, script: readonly ScriptedCall[], placing = {}) {
  const session = await startSession(agentOf(name), script, placing);
  closing.push(session.close);
  return session;
}
const versionOf = (name: keyof typeof clients) => new RegExp(clients[name].version.replaceAll('.', '\\.'));
const titled = (name: keyof typeof clients) => `${name} ${clients[name].version}`;

const restore = (instanceId: string, more: object = {}): ScriptedCall => ({
  tool: restoreInstance.name,
  args: { ...restoreInstance.example, instanceId, ...more },
});
const read: ScriptedCall = { tool: listParts.name, args: listParts.example };
const accepted = { state: 'accepted' };
const textOf = (lines: readonly string[]) => lines.join('\n');

describe(titled('@anthropic-ai/claude-code'), () => {
  const claude = '@anthropic-ai/claude-code';

  /** The lines of a question that are visible: Claude Code hides the others, and nothing shows them. */
  const visible = (lines: readonly string[]) => {
    const from = lines.findIndex((line) => line.includes('requests your input'));
    const to = lines.findIndex((line) => line.includes('more lines)'));
    return lines.slice(from + 1, to).flatMap((line) => line.trim() || []);
  };

  test.each([
    [
      'what costs money',
      restore('wiki-of-the-whole-company', { region: 'jp-west-1' }),
      // The region, which has no room, stands in the third line.
      /^Create DevOps server "wiki-of-the-whole-company" \(100 GB, e-large\)\?$/,
      'It costs money.',
      'Create server "wiki-of-the-whole…" (costs money)',
    ],
    [
      'what cannot be undone',
      { tool: upgradeKubeVersion.name, args: upgradeKubeVersion.example },
      /^Upgrade .+\?$/,
      'This cannot be undone.',
      '(no way back)',
    ],
  ])(
    'whoever reads only the visible lines knows %s, and agrees to it by name',
    async (_what, call, what, risk, label) => {
      const session = await start(claude, [call]);
      await session.shows(versionOf(claude));
      await session.go();
      const seen = visible(await session.shows(/more lines\)[\s\S]*Decision/));
      expect(seen).toEqual([
        expect.stringMatching(what),
        risk,
        expect.stringMatching(/^The built-in sandbox,.* account SANDBOX\w+\.$/),
      ]);
      await session.press('Right');
      await session.shows(/to collapse|to select|toggle/);
      expect(textOf(await session.lines())).toContain(label);
      await readAsAPerson();
      await session.pressUntil('Down', (seen) => /❯ Accept/.test(seen), 'the button');
      await session.pressUntil('Enter', () => session.model.results().length > 0, 'the answer');
      expect(session.model.results()[0]).toContain('accepted');
    },
  );

  test('no text of an agent becomes the title of a call', async () => {
    // With the argument's own name, it shows "Reading the list of backups" above the question.
    const session = await start(claude, [restore('wiki', { descriptionText: 'Read the list of backups' })]);
    await session.go();
    const seen = textOf(await session.shows(/more lines\)[\s\S]*Decision/));
    expect(seen).toContain('Calling cloudops');
    expect(seen).not.toContain('the list of backups');
  });

  test('three refusals end its questions, and none of those at a terminal', async () => {
    const names = ['one', 'two', 'three', 'four'];
    const session = await start(
      claude,
      names.map((name) => restore(name)),
    );
    await session.go();
    for (const name of names.slice(0, 3)) {
      await session.shows(new RegExp(`Create DevOps server "${name}"[\\s\\S]*Decision`));
      await readAsAPerson();
      await session.pressUntil('Down', (seen) => /❯ Accept/.test(seen), 'the first button');
      await session.pressUntil('Right', (seen) => /❯ Decline/.test(seen), 'the second button');
      const before = session.model.results().length;
      await session.pressUntil('Enter', () => session.model.results().length > before, 'the answer');
    }
    await session.until(() => session.model.results().length === 4, 'the fourth answer');
    expect(session.model.results().slice(0, 3).join()).not.toContain('TooManyRefusals');
    expect(session.model.results()[3]).toContain('TooManyRefusals');
    expect(await session.changes()).toHaveLength(3);

    const { client } = session;
    const args = JSON.stringify({ ...restoreInstance.example, instanceId: 'four' });
    const ours = (...command: readonly string[]) =>
      openScreen([process.execPath, serverPath, ...command, '--sandbox'], { cwd: client.project, env: client.env });
    const terminal = await ours('call', restoreInstance.name, args);
    closing.push(terminal.close);
    await terminal.shows(/Create DevOps server "four"[^?]*\?\n *It costs money\.[\s\S]*To go ahead, type "yes"/);
    await terminal.type('yes');
    await terminal.press('Enter');
    await terminal.shows(/The cloud accepted the restore of DevOps server "four"/);
  });
});

describe(titled('@openai/codex'), () => {
  const codex = '@openai/codex';
  const allow = async (session: Awaited<ReturnType<typeof start>>) => {
    await session.shows(/Allow the cloudops MCP server to run tool "restore_instance"/);
    await session.press('Enter');
  };

  test('it shows what it called, and its question is whole', async () => {
    const session = await start(codex, [read, restore('wiki')]);
    await session.shows(versionOf(codex));
    await session.go();
    await session.shows(/Called cloudops\.list_parts[\s\S]*Show details/);
    await allow(session);
    const question = textOf(await session.shows(/2\. Do nothing/));
    expect(question).toMatch(
      /Create DevOps server "wiki" \(100 GB, e-large\)\?\n +It costs money\.\n +The built-in sandbox, region jp-east-1, account SANDBOX\w+\./,
    );
    expect(question).toContain('Create server "wiki" (costs money)');
    await readAsAPerson();
    await session.type('1');
    // Codex gets no field for a reason, because it submits no form with an empty field.
    await session.pressUntil('Enter', (seen) => /restore_instance\n[\s\S]*Done\./.test(seen), 'the answer');
    expect(session.model.results()[1]).toContain('The cloud accepted the restore of DevOps server');
    expect(await session.changes()).toMatchObject([accepted]);
  });
});

describe(titled('@google/gemini-cli'), () => {
  test('who is not asked sees the plan whole, with the next step last; nothing is sent', async () => {
    const session = await start('@google/gemini-cli', [restore('wiki')]);
    await session.shows(versionOf('@google/gemini-cli'));
    await session.go();
    const shown = textOf(await session.shows(/Done\./));
    expect(shown).toMatch(/\n. Request:[\s\S]*\n. next: Show the user[\s\S]*counts only once/);
    expect(await session.changes()).toEqual([]);
  });
});

describe(titled('@qwen-code/qwen-code'), () => {
  const qwen = '@qwen-code/qwen-code';
  const line = z.looseObject({
    started: z.boolean().optional(),
    from: z.enum(['client', 'server']).optional(),
    message: z
      .looseObject({
        method: z.string().optional(),
        params: z.looseObject({}).optional(),
        result: z.unknown().optional(),
      })
      .optional(),
  });
  const recorder = fileURLToPath(new URL('recorder.mjs', import.meta.url));
  /** Puts the recorder between client and server. */
  const recorded = (block: string) => {
    const config = z
      .object({ mcpServers: z.object({ cloudops: z.looseObject({ command: z.string(), args: z.array(z.string()) }) }) })
      .parse(JSON.parse(block));
    const { cloudops } = config.mcpServers;
    const args = [recorder, 'wire.jsonl', cloudops.command, ...cloudops.args];
    return JSON.stringify({ mcpServers: { cloudops: { ...cloudops, command: process.execPath, args } } });
  };
  const wireOf = (project: string) =>
    readFileSync(join(project, 'wire.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((text) => line.parse(JSON.parse(text)));

  test('reads of one page bring no progress, so that it stays connected to the server that it started', async () => {
    // Not the same twice: it would ask whether this is a loop.
    const reads = Array.from({ length: 20 }, (_, index) => ({
      ...read,
      args: { ...listParts.example, expectedParts: 16 + index },
    }));
    const session = await start(qwen, reads, { edit: recorded });
    await session.shows(versionOf(qwen));
    await session.go();
    const shown = textOf(await session.until(() => session.model.results().length === reads.length, 'the last answer'));
    expect(shown).not.toMatch(/offline|disconnected|error/i);
    const wire = wireOf(session.client.project);
    const calls = wire.filter(({ message }) => message?.method === 'tools/call');
    expect(calls).toHaveLength(reads.length);
    for (const { message } of calls) expect(message?.params).toHaveProperty('_meta.progressToken');
    expect(wire.filter(({ message }) => message?.method === 'notifications/progress')).toEqual([]);
    expect(wire.filter(({ started }) => started)).toHaveLength(1);
  });

  test.each(['human', 'ask'])('a view that it declares and does not show is no dead end: %s', async (confirm) => {
    const session = await start(qwen, [restore('wiki')], { settings: [`CLOUDOPS_CONFIRM=${confirm}`], edit: recorded });
    await session.go();
    const shown = textOf(await session.shows(/Done\./));
    expect(shown).not.toMatch(/Create server "wiki"/);
    const [initialize] = wireOf(session.client.project).filter(({ message }) => message?.method === 'initialize');
    expect(JSON.stringify(initialize)).toContain('io.modelcontextprotocol/ui');
    expect(session.model.results()[0]).toContain('with a button');
    expect(session.model.results()[0]).toContain(
      'If they see no button, they can decide where this server runs, with cloudops-mcp call',
    );
  });
});

describe(titled('opencode-ai'), () => {
  const call = restore('wiki');

  test('with the block as it is, two calls of a model create nothing without a key', async () => {
    const session = await start('opencode-ai', [call, ofLastChange('confirm_change', { thing: 'wiki' })], {
      asIs: true,
    });
    await session.shows(versionOf('opencode-ai'));
    await session.go();
    for (const [answers, tool] of ['restore_instance', 'confirm_change'].entries()) {
      await session.until(
        (seen) =>
          new RegExp(`Permission required[\\s\\S]*cloudops_${tool}`).test(seen) &&
          session.model.results().length === answers,
        'the question before the call',
      );
      expect(await session.changes()).toEqual([]);
      await session.press('Enter');
    }
    await session.until(() => session.model.results().length === 2, 'the answer');
    expect(session.model.results()[1]).toContain('outcome: accepted');
    expect(await session.changes()).toMatchObject([accepted]);
  });
});

describe(titled('mcporter'), () => {
  test('a plan is carried out by the next process, which is another server', async () => {
    const client = await installClient('mcporter');
    closing.push(client.remove);
    // The built-in sandbox would be another cloud for each server.
    const sandbox = await startSandbox({ now: () => new Date() });
    closing.push(() => sandbox.close());
    const { credentials, endpoints } = sandbox.cloud;
    const env = {
      CLOUDOPS_ACCESS_KEY_ID: credentials.accessKeyId,
      CLOUDOPS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      CLOUDOPS_DEVOPS_URL: endpoints.devops,
      CLOUDOPS_OPEN_BROWSER: 'off',
    };
    const cloudops = { command: process.execPath, args: [serverPath], env };
    await client.write('project/mcp.json', JSON.stringify({ mcpServers: { cloudops } }));
    const call = async (tool: string, args: object) => {
      const command = ['call', `cloudops.${tool}`, '--args', JSON.stringify(args), '--output', 'json'];
      const screen = await openScreen([client.bin, '--config', 'mcp.json', ...command], {
        cwd: client.project,
        env: client.env,
        rows: 120,
      });
      closing.push(screen.close);
      return textOf(await screen.shows(/^\}/m));
    };
    const args = { ...restoreInstance.example, instanceId: 'wiki' };
    const plan = await call('restore_instance', args);
    expect(plan).toContain('"outcome": "planned"');
    const [, changeId] = /"changeId": "([^"]+)"/.exec(plan.replaceAll('\n', '')) ?? [];
    const confirm = () => call('confirm_change', { changeId, thing: 'wiki' });
    expect(await confirm()).toContain('"outcome": "accepted"');
    expect(await confirm()).toContain('"outcome": "accepted"');
  });
});
