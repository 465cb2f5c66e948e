import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agents } from './agents.js';
import { clientConfig, type InstalledClient, installClient } from './client.js';
import { asked, sent } from './script.js';
import { type ScriptedModel, startScriptedModel } from './scripted-model.js';

/** Agents as their makers publish them, without a person. Their model is a script, which notes what reaches it. */

/** Nothing listens there. */
const nobody = 'http://127.0.0.1:9';

const byItself = { summary: 'nobody was asked', next: 'the person who runs this server can set CLOUDOPS_CONFIRM=plan' };
const withPlan = { summary: 'nothing was sent', next: 'this planId' };

describe.each(agents)('$title', ({ client: name, config, files, env, list, listed, skills, task, asks }) => {
  let client: InstalledClient;
  beforeAll(async () => {
    client = await installClient(name);
    await client.write(`${skills}/cloudops/SKILL.md`, readFileSync('skills/cloudops/SKILL.md', 'utf8'));
  });
  afterAll(() => client?.remove());

  /** Places what client-config prints for it. */
  const place = async (origin: string, settings: readonly string[] = []) => {
    for (const [path, text] of files(await clientConfig(config, ...settings), origin)) await client.write(path, text);
  };

  test('it says its version', async () => {
    expect((await client.run(['--version'], env(nobody))).stdout).toContain(client.version);
  });

  test('it lists the server as one that can be used', async () => {
    await place(nobody);
    const { stdout, stderr } = await client.run(list, env(nobody));
    expect(stdout + stderr).toMatch(listed);
  });

  describe.each([
    ['with the settings as they are at first', [], asked(asks ? byItself : withPlan)],
    ['with CLOUDOPS_CONFIRM=off', ['--confirm', 'off'], sent],
  ] as const)('%s', (_what, settings, script) => {
    let model: ScriptedModel;
    beforeAll(async () => {
      model = await startScriptedModel(script);
      await place(model.origin, settings);
      const { code, stdout, stderr } = await client.run(task, env(model.origin));
      if (model.results().length < script.length)
        throw new Error(`${script.length - model.results().length} calls are missing. Exit code ${code}.
${model.refused.join('\n')}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
    });
    afterAll(() => model?.close());

    test('its model is offered the tools, with descriptions', () => {
      for (const { tool } of script) expect(model.tools.get(tool)?.description).toMatch(/\S/);
    });

    test('its model is offered the skill', () => {
      expect(model.requests.some((body) => body.includes('Reports how far multipart uploads'))).toBe(true);
    });

    test.each(script.map((call, index) => ({ ...call, index })))(
      'summary and next of $what reach the model',
      ({ summary, next, index }) => {
        expect(model.results()[index]).toContain(summary);
        expect(model.results()[index]).toContain(next);
      },
    );
  });
});
