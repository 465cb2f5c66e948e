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
  const callers = Array.from({ length: 41 }, (_, index) => `caller-${index}`);
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  let folder: string;
  let postgres: Postgres;
  let pgBouncer: PgBouncer;
  let cloud: CapturingServer;
  let fleet: Fleet;
  /** The replicas of the messages, by kind of message. */
  let reached: { readonly replica: number; readonly what: string }[] = [];
  let number = 0;
  const clients: Client[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-sessions-'));
    writeFileSync(join(folder, 'tokens'), callers.map((name) => `${name} ${sha256(name)}`).join('\n'));
    postgres = await startPostgres();
    pgBouncer = await startPgBouncer(postgres.url('behind'));
  }, 120_000);
  afterAll(async () => {
    await pgBouncer.stop();
    postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const settings = () =>
    fleetSettings(cloud, pgBouncer.through(postgres.url(`sessions_${number}`)), {
      CLOUDOPS_CONFIRM: 'human',
      CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'),
    });

  beforeEach(async () => {
    number += 1;
    reached = [];
    cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"s"}}'));
    fleet = await startFleet(settings(), (replica, body) =>
      reached.push({ replica, what: JSON.parse(body).method ?? 'reply' }),
    );
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await fleet.close();
    await cloud.close();
  });

  type Reply = { action: 'accept'; content: { decision: string } } | { action: 'decline' };
  /** A client whose user answers as `person` does. */
  const connect = async (person: (message: string) => Promise<Reply>, token = callers[0] ?? '') => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => person(params.message));
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const transport = new StreamableHTTPClientTransport(fleet.url, { requestInit });
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
  const journal = () => journalOf(settings());
  const replicaOf = (what: string) => reached.findLast((message) => message.what === what)?.replica;

  /** People who answer when `release` is called. */
  const slowPeople = () => {
    const asked: string[] = [];
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const person = async (message: string) => {
      asked.push(message);
      await released;
      return agree(message);
    };
    return { asked, person, release: () => release() };
  };

  test('the answer to a question of one comes to another, and the change is made once', async () => {
    const client = await connect(agree);
    expect(await restore(client, 'asked')).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(replicaOf('reply')).not.toBe(replicaOf('tools/call'));
    expect(cloud.requests).toHaveLength(1);
    expect(await journal()).toMatchObject([{ consent: 'asked', client: 'test 1', caller: callers[0] }]);
    const left = () => postgres.sql(`sessions_${number}`, 'select count(*) from cloudops_messages');
    await vi.waitFor(() => expect(left()).toBe('0'), 5000);
  });

  test('no is an answer too', async () => {
    const client = await connect(async () => {
      await readAsAPerson();
      return { action: 'decline' };
    });
    expect(await restore(client, 'declined')).toMatchObject({ structuredContent: { code: 'Declined' } });
    expect(cloud.requests).toHaveLength(0);
  });

  test('one that is killed while a question is open takes the change along, and the session goes on with the others', async () => {
    const { asked, person, release } = slowPeople();
    const client = await connect(person);
    const lost = restore(client, 'lost').then(
      () => 'an answer',
      () => 'no answer',
    );
    await vi.waitFor(() => expect(asked).toHaveLength(1), 10_000);
    const [killed] = fleet.replicas.splice(replicaOf('tools/call') ?? 0, 1);
    killed?.child.kill('SIGKILL');
    await killed?.ended;
    release();
    await vi.waitFor(() => expect(replicaOf('reply')).toBeDefined(), 10_000);
    expect(await restore(client, 'again')).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(cloud.requests.map(({ body }) => JSON.parse(body).instanceId)).toEqual(['again']);
    await client.close();
    expect(await lost).toBe('no answer');
    expect(await journal()).toMatchObject([
      { what: expect.stringContaining('again'), ending: { outcome: 'accepted' } },
    ]);
  });

  test('forty questions are open while others call, and each is answered once', async () => {
    const { asked, person, release } = slowPeople();
    const names = callers.slice(0, 40);
    const asking = await Promise.all(names.map((name) => connect(person, name)));
    const results = asking.map((client, index) => restore(client, `s${index}`));
    await vi.waitFor(() => expect(asked).toHaveLength(40), 60_000);
    const other = await connect(agree, callers[40]);
    const { tools } = await other.listTools();
    expect(tools.map(({ name }) => name)).toContain('restore_instance');
    expect(await restore(other, 'other')).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    expect(cloud.requests).toHaveLength(1);
    release();
    for (const result of await Promise.all(results))
      expect(result).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    const sent = cloud.requests.map(({ body }) => JSON.parse(body).instanceId);
    expect(new Set(sent).size).toBe(41);
    expect(sent).toHaveLength(41);
  }, 90_000);

  test('views are offered to a client that declares them', async () => {
    const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { extensions } });
    const requestInit = { headers: { authorization: `Bearer ${callers[0]}` } };
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
    expect(cloud.requests).toHaveLength(1);
  });
});
