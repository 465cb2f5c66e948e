import type { Journal } from '../../src/journal/journal.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { never, testCaller } from './caller.js';
import { answered, scriptedClient } from './scripted-client.js';

/** When the changes of the journals in test/fixtures/journal were made. */
export const keptTime = Date.parse('2026-11-22T12:00:00Z');

const backupId = 'demobackup0000000000000000000001';
export const keptCalls = {
  carriedOut: { backupId, instanceId: 'kept-carried-out', description: 'é 日本', diskSize: 200 },
  waiting: { backupId, instanceId: 'kept-waiting' },
};

/** The calls of a server with a journal, against a cloud that accepts everything. `requests` has what was sent. */
export function keptCaller(journal: Journal, now: () => Date, confirm: 'plan' | 'off') {
  const { openClient, requests } = scriptedClient(async () => answered(200, { instance: {} }));
  const { call, close } = testCaller('https://cloud.example.com', { journal, now, confirm, openClient });
  const restore = (args: object) => call(restoreInstance, args, { signal: never });
  return { restore, requests, close };
}

/** Makes the calls of the fixture: plans both changes, and carries one out. Resolves with the planIds. */
export async function makeKeptCalls(journal: Journal): Promise<Record<keyof typeof keptCalls, string>> {
  const { restore, close } = keptCaller(journal, () => new Date(keptTime), 'plan');
  const planIdOf = async (args: object) => {
    const planned = await restore(args);
    if (!planned.ok || planned.structured.planId === undefined) throw new Error(planned.text);
    return planned.structured.planId;
  };
  const planIds = { carriedOut: await planIdOf(keptCalls.carriedOut), waiting: await planIdOf(keptCalls.waiting) };
  const sent = await restore({ ...keptCalls.carriedOut, planId: planIds.carriedOut });
  if (!sent.ok) throw new Error(sent.text);
  await close();
  return planIds;
}
