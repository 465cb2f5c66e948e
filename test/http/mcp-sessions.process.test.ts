import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Fleet, fleetSettings, journalOf, startFleet } from '../support/fleet.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { readAsAPerson } from '../support/person.js';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';

/**
 * Clients of the SDK's 1.x line, which most hosts embed, ask their users over HTTP. Three replicas share a journal in PostgreSQL behind
 * PgBouncer, and a proxy sends each request to the next replica.
 */
describe.skipIf(!hasPostgres() || !hasPgBouncer())('three replicas behind a round-robin proxy', () => {
  const fortyCallers = Array.from({ length: 40 }, (_, index) => `caller-${index}`);
  /** A caller's token is the caller's name. */
  const callers = ['alice', 'bob', 'carol', 'dave', 'erin', ...fortyCallers];
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  let folder: string;
  let postgres: Postgres;
  let pgBouncer: PgBouncer;
  let cloud: CapturingServer;
  let settings: Record<string, string>;
  let fleet: Fleet;
  /** The replicas of the messages, by kind of message. */
  let reached: { readonly replica: number; readonly what: string }[] = [];
  const noteReached = (replica: number, body: string) =>
    reached.push({ replica, what: JSON.parse(body).method ?? 'reply' });
  const clients: Client[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-sessions-'));
    writeFileSync(join(folder, 'tokens'), callers.map((name) => `${name} ${sha256(name)}`).join('\n'));
    postgres = await startPostgres();
    pgBouncer = await startPgBouncer(postgres.url('behind'));
    cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"s"}}'));
    settings = fleetSettings(cloud, pgBouncer.through(postgres.url('sessions')), {
      CLOUDOPS_CONFIRM: 'human',
      CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'),
    });
    fleet = await startFleet(settings, noteReached);
  }, 120_000);
  afterAll(async () => {
    await fleet.close();
    await cloud.close();
    await pgBouncer.stop();
    postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    reached = [];
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  type Reply = { action: 'accept'; content: { decision: string } } | { action: 'decline' };
  /** A client whose user answers as `person` does. */
  const connect = async (person: (message: string) => Promise<Reply>, token: string, { url } = fleet) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => person(params.message));
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const transport = new StreamableHTTPClientTransport(url, { requestInit });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    clients.push(client);
    return client;
  };
  const yes = (message: string): Reply => ({
    action: 'accept',
    content: { decision: `Create server "${/server "([^"]*)"/.exec(message)?.[1]}" (costs money)` },
  });
  const agree = async (message: string) => {
    await readAsAPerson();
    return yes(message);
  };
  const restore = (client: Client, instanceId: string) =>
    client.callTool({ name: 'restore_instance', arguments: { backupId: 'a'.repeat(32), instanceId } });
  /** Bodies of the requests for an instance that the cloud got. */
  const sentFor = (instanceId: string) =>
    cloud.requests.filter(({ body }) => JSON.parse(body).instanceId === instanceId);
  /** Changes of the journal that made an instance. */
  const recordedFor = async (instanceId: string) =>
    (await journalOf(settings)).filter(({ what }) => what.includes(instanceId));
  const replicaOf = (what: string) => reached.findLast((message) => message.what === what)?.replica;

  /** People who read a question at once, and answer when `release` is called. */
  const slowPeople = () => {
    const asked: string[] = [];
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const person = async (message: string) => {
      asked.push(message);
      await Promise.all([released, readAsAPerson()]);
      return yes(message);
    };
    return { asked, person, release: () => release() };
  };

  test('the answer to a question of one comes to another, and the change is made once', async () => {
    const client = await connect(agree, 'alice');
    expect(await restore(client, 'asked')).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(replicaOf('reply')).not.toBe(replicaOf('tools/call'));
    expect(sentFor('asked')).toHaveLength(1);
    expect(await recordedFor('asked')).toMatchObject([
      { decision: { way: 'asked' }, client: 'test 1', caller: 'alice' },
    ]);
    const left = () => postgres.sql('sessions', 'select count(*) from cloudops_messages');
    await vi.waitFor(() => expect(left()).toBe('0'), 5000);
  });

  test('no is an answer too', async () => {
    const client = await connect(async () => {
      await readAsAPerson();
      return { action: 'decline' };
    }, 'bob');
    expect(await restore(client, 'declined')).toMatchObject({ structuredContent: { code: 'Declined' } });
    expect(sentFor('declined')).toHaveLength(0);
  });

  test('one that is killed while a question is open takes the change along, and the session goes on with the others', async () => {
    const others = await startFleet(settings, noteReached);
    const { asked, person, release } = slowPeople();
    const client = await connect(person, 'carol', others);
    const lost = restore(client, 'lost').then(
      () => 'an answer',
      () => 'no answer',
    );
    await vi.waitFor(() => expect(asked).toHaveLength(1), 10_000);
    const [killed] = others.replicas.splice(replicaOf('tools/call') ?? 0, 1);
    killed?.child.kill('SIGKILL');
    await killed?.ended;
    release();
    await vi.waitFor(() => expect(replicaOf('reply')).toBeDefined(), 10_000);
    expect(await restore(client, 'again')).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect([sentFor('lost').length, sentFor('again').length]).toEqual([0, 1]);
    await client.close();
    expect(await lost).toBe('no answer');
    expect(await recordedFor('lost')).toEqual([]);
    expect(await recordedFor('again')).toMatchObject([{ state: 'accepted' }]);
    await others.close();
  });

  test('forty questions are open while others call, and each is answered once', async () => {
    const { asked, person, release } = slowPeople();
    const asking = await Promise.all(fortyCallers.map((name) => connect(person, name)));
    const results = asking.map((client, index) => restore(client, `forty-${index}`));
    await vi.waitFor(() => expect(asked).toHaveLength(40), 60_000);
    const other = await connect(agree, 'dave');
    const { tools } = await other.listTools();
    expect(tools.map(({ name }) => name)).toContain('restore_instance');
    expect(await restore(other, 'other')).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(sentFor('other')).toHaveLength(1);
    const sent = () => cloud.requests.map(({ body }) => JSON.parse(body).instanceId).filter((id) => /^forty-/.test(id));
    expect(sent()).toEqual([]);
    release();
    for (const result of await Promise.all(results))
      expect(result).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(new Set(sent()).size).toBe(40);
    expect(sent()).toHaveLength(40);
  }, 90_000);

  test('views are offered to a client that declares them', async () => {
    const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { extensions } });
    const requestInit = { headers: { authorization: 'Bearer erin' } };
    const transport = new StreamableHTTPClientTransport(fleet.url, { requestInit });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    clients.push(client);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'restore_instance')?._meta).toMatchObject({
      ui: { resourceUri: 'ui://cloudops/change' },
    });
    const { contents } = await client.readResource({ uri: 'ui://cloudops/change' });
    expect(contents).toMatchObject([{ mimeType: 'text/html;profile=mcp-app' }]);
    const planned = await restore(client, 'viewed');
    expect(planned).toMatchObject({
      structuredContent: {
        outcome: 'planned',
        next: { who: 'user', action: 'decide', text: expect.stringContaining('click') },
      },
    });
    const { ticket } = Object.values(planned._meta ?? {}).find(
      (value): value is { ticket: string } => typeof value === 'object' && value !== null && 'ticket' in value,
    ) ?? { ticket: '' };
    await readAsAPerson();
    const decided = await client.callTool({ name: 'decide_change', arguments: { ticket, decision: 'accept' } });
    expect(decided).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(sentFor('viewed')).toHaveLength(1);
  });
});
