import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { fleetSettings, type HoldingCloud, journalOf, killAll, startHoldingCloud } from '../support/fleet.js';
import { hasPostgres, type Postgres, password, startPostgres } from '../support/postgres.js';
import { type RawServer, startRaw, toolCall } from '../support/raw-client.js';
import { runServer } from '../support/server-process.js';

/** Three servers as users run them, which share a key and a journal in PostgreSQL and nothing else. */
describe.skipIf(!hasPostgres())('three replicas', () => {
  let postgres: Postgres;
  let cloud: HoldingCloud;
  const replicas: RawServer[] = [];
  let number = 0;
  let requestId = 0;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 120_000);
  afterAll(() => postgres.remove());
  beforeEach(async () => {
    number += 1;
    cloud = await startHoldingCloud();
  });
  afterEach(async () => {
    await killAll(replicas.splice(0));
    await cloud.close();
  });

  const settings = (confirm: string) =>
    fleetSettings(cloud, postgres.url(`fleet_${number}`), {
      CLOUDOPS_STORAGE_URL: cloud.origin,
      CLOUDOPS_CONFIRM: confirm,
    });
  const start = (confirm: string): [RawServer, RawServer, RawServer] => {
    const started = [0, 1, 2].map(() => startRaw(settings(confirm))) as [RawServer, RawServer, RawServer];
    replicas.push(...started);
    return started;
  };
  const restore = async (replica: RawServer, instanceId: string, more: object = {}) => {
    requestId += 1;
    replica.send(toolCall(requestId, 'restore_instance', { backupId: 'a'.repeat(32), instanceId, ...more }));
    return answerSchema.parse(await replica.response(requestId)).result;
  };
  const arrived = (instanceId: string) => cloud.arrived(instanceId);
  const journal = () => journalOf(settings('off'));

  test('a plan of one is carried out by another, once, whoever else is asked for it at the same time', async () => {
    const [first, second, third] = start('plan');
    const planned = await restore(first, 'planned');
    const planId = z.string().parse(planned.structuredContent?.planId);
    expect(arrived('planned')).toBe(0);
    const answers = await Promise.all([second, third, first].map((replica) => restore(replica, 'planned', { planId })));
    // The others are told where the plan stands, or that it was used.
    expect(answers.filter(({ structuredContent }) => structuredContent?.consent !== undefined)).toHaveLength(1);
    expect(arrived('planned')).toBe(1);
    expect((await journal()).filter(({ ending }) => ending?.outcome === 'accepted')).toMatchObject([
      { consent: 'planId' },
    ]);
  });

  test('the same change sent to all at once is made once, time after time', async () => {
    const fleet = start('off');
    const names = Array.from({ length: 10 }, (_, index) => `same-${index}`);
    for (const name of names) {
      const answers = await Promise.all(fleet.map((replica) => restore(replica, name)));
      const refused = answers.filter(({ isError }) => isError === true);
      expect(refused.map(({ content }) => content[0].text)).toEqual(Array(2).fill(expect.stringContaining('Repeated')));
    }
    expect(names.map(arrived)).toEqual(names.map(() => 1));
    const written = await journal();
    expect(written.filter(({ ending }) => ending?.outcome === 'accepted')).toHaveLength(names.length);
    expect(written.every(({ ending }) => ending !== undefined)).toBe(true);
  });

  test('one that is killed in the middle of a change leaves it open, and another calls it unknown and says so', async () => {
    const [first, second, third] = start('off');
    const release = cloud.hold();
    const lost = restore(first, 'lost').catch(() => 'no answer');
    await expect.poll(() => arrived('lost')).toBe(1);
    expect(await journal()).toMatchObject([{ what: expect.stringContaining('lost') }]);
    expect((await restore(second, 'lost')).content[0].text).toContain('Repeated');
    first.child.kill('SIGKILL');
    expect(await lost).toBe('no answer');
    release();
    // Each tells what it found, with its next change.
    await restore(third, 'before');
    const told = (await restore(third, 'after')).content[0].text;
    expect(told).toMatch(/note: A change of .* ended without a known outcome/);
    const outcomes = (await journal()).filter(({ what }) => what.includes('lost')).map(({ ending }) => ending?.outcome);
    expect(outcomes[0]).toBe('unknown');
    expect((await restore(second, 'lost')).content[0].text).toContain('Repeated');
    expect(arrived('lost')).toBe(1);
  });

  test('while the journal is away reads go on and changes are refused; when it is back, so are they', async () => {
    const [first] = start('off');
    await restore(first, 'before');
    await postgres.stop();
    const refused = (await restore(first, 'meanwhile')).content[0].text;
    expect(refused).toContain('code: JournalUnavailable');
    expect(refused).toMatch(/fleet_\d+: ECONNREFUSED/);
    expect(refused).not.toMatch(/the file|MARKER/);
    expect(arrived('meanwhile')).toBe(0);
    requestId += 1;
    first.send(toolCall(requestId, 'list_parts', { bucket: 'b', object: 'o', uploadId: 'u' }));
    await first.response(requestId);
    expect(cloud.requests.at(-1)?.method).toBe('GET');
    const printed = await runServer(['journal'], { env: settings('off') });
    expect(printed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The journal cannot be read \(ECONNREFUSED\)\. Check that the database runs/),
    });
    await postgres.start();
    expect((await restore(first, 'meanwhile')).isError).not.toBe(true);
    expect(arrived('meanwhile')).toBe(1);
  }, 120_000);

  test('the password of the journal is in nothing that a server writes or answers', async () => {
    const [first] = start('off');
    await restore(first, 'one');
    for (const uri of ['cloudops://configuration', 'cloudops://journal']) {
      requestId += 1;
      first.send({ id: requestId, method: 'resources/read', params: { uri } });
      expect(JSON.stringify(await first.response(requestId))).toContain(uri.endsWith('journal') ? 'one' : 'fleet_');
    }
    const printed = await runServer(['journal'], { env: settings('off') });
    expect(printed.stdout).toContain('accepted');
    const wrong = settings('off').CLOUDOPS_JOURNAL.replace(password, `${password}x`);
    const denied = await runServer([], { env: { ...settings('off'), CLOUDOPS_JOURNAL: wrong } });
    const refused = await runServer(['journal', `CLOUDOPS_JOURNAL=${wrong}`], { env: {} });
    expect([denied.code, refused.code]).toEqual([0, 2]);
    const written = [first.stdout(), first.stderr(), ...[printed, denied, refused].map((run) => JSON.stringify(run))];
    for (const text of written) expect(text).not.toMatch(/MARKER|p@ss/);
  });
});

const answerSchema = z.object({
  result: z.object({
    isError: z.boolean().optional(),
    content: z.tuple([z.object({ text: z.string() })]),
    structuredContent: z.record(z.string(), z.unknown()).optional(),
  }),
});
