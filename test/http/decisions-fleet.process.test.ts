import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { browserOf } from '../support/decisions.js';
import { type Fleet, fleetSettings, journalOf, startFleet } from '../support/fleet.js';
import { answerOf, post, toolCall } from '../support/http-in-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { readAsAPerson } from '../support/person.js';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';

/** The page for decisions on three replicas, with a journal in PostgreSQL behind PgBouncer. Each request goes to the next replica. */

const publicUrl = 'https://cloudops.example.com';
const line = (name: string, scope = '') => `${name} ${createHash('sha256').update(name).digest('hex')} ${scope}\n`;

describe.skipIf(!hasPostgres() || !hasPgBouncer())('three replicas behind a round-robin proxy', () => {
  let folder: string;
  let postgres: Postgres;
  let pgBouncer: PgBouncer;
  let cloud: CapturingServer;
  let fleet: Fleet;
  /** The replica of each tool call. */
  let called: number[] = [];
  let env: Record<string, string>;
  let number = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-decisions-'));
    writeFileSync(
      join(folder, 'tokens'),
      line('alice') + line('bob', 'cloudops:approve') + line('carol', 'cloudops:approve'),
    );
    postgres = await startPostgres();
    pgBouncer = await startPgBouncer(postgres.url('behind'));
  });
  afterAll(async () => {
    await pgBouncer.stop();
    postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    number += 1;
    called = [];
    cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"wiki"}}'));
    env = fleetSettings(cloud, pgBouncer.through(postgres.url(`decisions_${number}`)), {
      CLOUDOPS_CONFIRM: 'approval',
      CLOUDOPS_HTTP_PUBLIC_URL: publicUrl,
      CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'),
    });
    fleet = await startFleet(env, (replica, body) => {
      if (body.includes('tools/call')) called.push(replica);
    });
  });
  afterEach(async () => {
    await fleet.close();
    await cloud.close();
  });

  const call = async (tool: string, given: object): Promise<Record<string, unknown>> => {
    const response = await post(fleet.url, toolCall(tool, given), { authorization: 'Bearer alice' });
    const { result } = await answerOf(response);
    return Object(result?.structuredContent);
  };
  const ask = (given: object = {}) =>
    call('restore_instance', { backupId: 'a'.repeat(32), instanceId: 'wiki', ...given });
  const get = (changeId: unknown) => call('get_change', { changeId });
  const signedIn = async (name: string) => {
    const browser = browserOf({ origin: fleet.origin, publicUrl });
    expect((await browser.signIn(name)).status).toBe(303);
    return browser;
  };

  test('one makes the plan, others sign a person in, show it and carry it out, and the agent that waits at another learns it', async () => {
    const id = String((await ask()).changeId);
    const waiting = get(id);
    const bob = await signedIn('bob');
    expect(await (await bob.get('/decisions')).text()).toContain(id);
    await readAsAPerson();
    expect((await bob.decide(id, 'accept')).status).toBe(200);
    expect(await waiting).toMatchObject({ outcome: 'accepted', answer: { instance: { instanceId: 'wiki' } } });
    expect(cloud.requests).toHaveLength(1);
    expect(await journalOf(env)).toMatchObject([
      { caller: 'alice', state: 'accepted', decision: { person: 'bob', way: 'page' } },
    ]);
  });

  test('one that is killed while its plan waits takes nothing along: the others have it decided', async () => {
    const id = String((await ask()).changeId);
    const bob = await signedIn('bob');
    const [killed] = fleet.replicas.splice(called[0] ?? 0, 1);
    killed?.child.kill('SIGKILL');
    await killed?.ended;
    await readAsAPerson();
    expect((await bob.decide(id, 'accept')).status).toBe(200);
    expect(await get(id)).toMatchObject({ outcome: 'accepted' });
    expect(cloud.requests).toHaveLength(1);
  });

  test('a no binds, also after all of them were replaced', async () => {
    const id = String((await ask()).changeId);
    const bob = await signedIn('bob');
    await readAsAPerson();
    expect((await bob.decide(id, 'decline')).status).toBe(200);
    await fleet.close();
    // In this mode, the agent's word is the consent.
    fleet = await startFleet({ ...env, CLOUDOPS_CONFIRM: 'plan' }, () => undefined);
    expect(await ask({ instanceId: 'other' })).toMatchObject({ outcome: 'planned', changeId: expect.any(String) });
    expect(await ask()).toMatchObject({ code: 'Declined' });
  });

  test('of two people who decide at two of them at once, one does', async () => {
    const id = String((await ask()).changeId);
    const [bob, carol] = await Promise.all([signedIn('bob'), signedIn('carol')]);
    await readAsAPerson();
    await Promise.all([bob.decide(id, 'accept'), carol.decide(id, 'accept')]);
    expect(cloud.requests).toHaveLength(1);
    expect(await journalOf(env)).toHaveLength(1);
  });

  test('the first decision stands at all of them: a later click changes neither the plan nor its person', async () => {
    const id = String((await ask()).changeId);
    const [bob, carol] = await Promise.all([signedIn('bob'), signedIn('carol')]);
    await readAsAPerson();
    await bob.decide(id, 'accept');
    for (const _ of fleet.replicas)
      expect(await (await carol.decide(id, 'decline')).text()).toMatch(
        /Too late: bob agreed \d+ s before you\. Your click changed nothing\./,
      );
    expect(await (await carol.get('/decisions')).text()).toMatch(/decided by <bdi>&quot;bob&quot;/);
    expect(await journalOf(env)).toMatchObject([{ state: 'accepted', decision: { person: 'bob' } }]);
    expect(await get(id)).toMatchObject({ outcome: 'accepted' });
  });

  test('a plan that another one replaced cannot be approved at any of them', async () => {
    const first = await ask({ diskSize: 100 });
    const second = await ask({ diskSize: 200, replaces: first.changeId });
    expect(second).toMatchObject({ outcome: 'waiting' });
    const bob = await signedIn('bob');
    await readAsAPerson();
    for (const _ of fleet.replicas)
      expect(await (await bob.decide(String(first.changeId), 'accept')).text()).toMatch(
        /Too late: its caller replaced the plan with a newer one .* before you\./,
      );
    expect((await bob.decide(String(second.changeId), 'accept')).status).toBe(200);
    expect(cloud.requests.map(({ body }) => JSON.parse(body).diskSize)).toEqual([200]);
  });

  test('twenty plans of a caller wait, made at once at all of them; one more is refused until one is taken back', async () => {
    const made = await Promise.all(Array.from({ length: 24 }, (_, index) => ask({ instanceId: `s${index}` })));
    const waiting = made.filter(({ outcome }) => outcome === 'waiting');
    expect(waiting).toHaveLength(20);
    for (const { code } of made.filter(({ outcome }) => outcome !== 'waiting')) expect(code).toBe('TooManyWaiting');
    expect(await call('withdraw_change', { changeId: waiting[0]?.changeId })).toMatchObject({ outcome: 'withdrawn' });
    expect(await ask({ instanceId: 'more' })).toMatchObject({ outcome: 'waiting' });
    expect(cloud.requests).toEqual([]);
  });
});
