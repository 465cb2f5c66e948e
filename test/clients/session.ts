import { type Agent, placeBlock } from './agents.js';
import { type InstalledClient, installClient } from './client.js';
import { openScreen, type Screen, type TerminalSize } from './screen.js';
import { type ScriptedCall, type ScriptedModel, startScriptedModel } from './scripted-model.js';

/** An agent at work in a terminal of 80 columns, with a script for its model and a test for its user. */
export interface Session extends Screen {
  readonly model: ScriptedModel;
  readonly client: InstalledClient;
  /** Gives it the task, once more until it has the tools of the server. */
  go(): Promise<void>;
  /** The changes in the journal of its server. */
  changes(): Promise<readonly Record<string, unknown>[]>;
}

/** Starts an agent that has what `client-config` prints for it, and waits until it takes a task. */
export async function startSession(
  agent: Agent,
  script: readonly ScriptedCall[],
  { size, ...placing }: NonNullable<Parameters<typeof placeBlock>[3]> & { readonly size?: TerminalSize } = {},
): Promise<Session> {
  const { inTerminal, env } = agent;
  const client = await installClient(agent.client);
  const model = await startScriptedModel(script);
  await placeBlock(client, agent, model.origin, placing);
  for (const [path, text] of inTerminal.files?.(client.project) ?? []) await client.write(path, text);
  const screen = await openScreen([client.bin, ...inTerminal.args], {
    cwd: client.project,
    env: { ...client.env, ...env(model.origin) },
    ...size,
  });
  const session: Session = {
    ...screen,
    model,
    client,
    async go() {
      // Some take a task before the server is there, and end it at once.
      for (let attempt = 1; model.tools.size === 0; attempt += 1) {
        await screen.type('Go');
        await screen.shows(/[*>❯›┃]\s+Go/);
        await screen.press('Enter');
        const ended = new RegExp(`(?:Done\\.[\\s\\S]*){${attempt}}`);
        await screen.until((seen) => model.tools.size > 0 || ended.test(seen), 'the task under way');
      }
    },
    async changes() {
      const { stdout } = await client.runServer(['journal', '--json']);
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    },
    async close() {
      await screen.close();
      await model.close();
      await client.remove();
    },
  };
  await screen.shows(inTerminal.ready);
  return session;
}
