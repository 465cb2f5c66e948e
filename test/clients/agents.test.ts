import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { agents, placeBlock } from './agents.js';
import { type InstalledClient, installClient } from './client.js';
import { asked, sent } from './script.js';
import { type ScriptedModel, startScriptedModel } from './scripted-model.js';

/** Agents as their makers publish them, without a person. Their model is a script, which notes what reaches it. */

/** Nothing listens there. */
const nobody = 'http://127.0.0.1:9';

/** A program answers within a second, unless the machine is busy: then a refusal cannot be told from that of a person. */
const byItself = {
  summary: /too soon to be a person's|the user has not agreed to it/,
  next: /this client is not asked again|call again only if the user asks for it/,
};
/** A client that answered by itself is not asked again. */
const notAsked = {
  summary: /only a person can agree to it|the user has not agreed to it/,
  next: /needs a client that asks its user|call again only if the user asks for it/,
};
const withPlan = { summary: 'nothing was sent', next: 'this changeId' };

describe.each(agents)('$title', (agent) => {
  const { client: name, env, list, listed, skills, task, asks, asksBecauseOf, declaresViews } = agent;
  let client: InstalledClient;
  beforeAll(async () => {
    client = await installClient(name);
    await client.write(`${skills}/cloudops/SKILL.md`, readFileSync('skills/cloudops/SKILL.md', 'utf8'));
  });
  afterAll(() => client?.remove());

  test('it says its version', async () => {
    expect((await client.run(['--version'], env(nobody))).stdout).toContain(client.version);
  });

  test('it lists the server as one that can be used', async () => {
    await placeBlock(client, agent, nobody);
    const { stdout, stderr } = await client.run(list, env(nobody));
    expect(stdout + stderr).toMatch(listed);
  });

  if (asksBecauseOf !== undefined)
    test('with the block as it is, it calls nothing that nobody has let it call', async () => {
      const model = await startScriptedModel(asked(withPlan).slice(0, 1));
      onTestFinished(() => model.close());
      await placeBlock(client, agent, model.origin, { asIs: true });
      await client.run(task, env(model.origin));
      expect(model.tools.size).toBeGreaterThan(0);
      expect(model.results().join('\n')).not.toContain('has 12 parts');
    });

  describe.each([
    [
      'with the settings as they are at first',
      [],
      asked(
        asks ? byItself : withPlan,
        declaresViews && 'they can decide where this server runs',
        asks ? notAsked : withPlan,
      ),
    ],
    ['with CLOUDOPS_CONFIRM=off', ['CLOUDOPS_CONFIRM=off'], sent],
  ] as const)('%s', (_what, settings, script) => {
    let model: ScriptedModel;
    beforeAll(async () => {
      model = await startScriptedModel(script);
      await placeBlock(client, agent, model.origin, { settings });
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
        expect(model.results()[index]).toMatch(summary);
        expect(model.results()[index]).toMatch(next);
      },
    );
  });
});
