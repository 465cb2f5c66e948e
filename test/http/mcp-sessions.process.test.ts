import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, fleetSettings, journalOf, startFleet } from '../support/fleet.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { readAsAPerson } from '../support/person.js';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';

/**
 * Clients of the SDK's 1.x line, which most hosts embed. Three replicas share a journal in PostgreSQL behind PgBouncer, and a proxy sends each
 * request to the next replica.
 */
describe.skipIf(!hasPostgres() || !hasPgBouncer())('three replicas behind a round-robin proxy', () => {
  let postgres: Postgres;
  let pgBouncer: PgBouncer;
  let cloud: CapturingServer;
  let settings: Record<string, string>;
  let fleet: Fleet;
  /** The replica of each call of a tool. */
  const called: number[] = [];
  const clients: Client[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    pgBouncer = await startPgBouncer(postgres.url('behind'));
    cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"s"}}'));
    settings = fleetSettings(cloud, pgBouncer.through(postgres.url('sessions')), { CLOUDOPS_CONFIRM: 'human' });
    fleet = await startFleet(settings, (replica, body) => {
      if (JSON.parse(body).method === 'tools/call') called.push(replica);
    });
  });
  afterAll(async () => {
    await fleet.close();
    await cloud.close();
    await pgBouncer.stop();
    postgres.remove();
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  /** A client that shows forms. Fails if it is asked to. */
  const connect = async (extensions: Record<string, object> = {}) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, extensions } });
    client.setRequestHandler(ElicitRequestSchema, () => expect.unreachable());
    const transport = new StreamableHTTPClientTransport(fleet.url);
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    clients.push(client);
    return client;
  };
  const restore = (client: Client, instanceId: string) =>
    client.callTool({ name: 'restore_instance', arguments: { backupId: 'a'.repeat(32), instanceId } });

  test('a session that one began is known to all, and nobody is asked in a form', async () => {
    const client = await connect();
    const before = called.length;
    for (const instanceId of ['one', 'two', 'three'])
      expect(await restore(client, instanceId)).toMatchObject({
        structuredContent: { code: 'NeedsHuman', next: { who: 'user', action: 'decide' } },
      });
    expect(new Set(called.slice(before)).size).toBe(3);
    expect(cloud.requests).toHaveLength(0);
  });

  test('a view that one shows is clicked at another', async () => {
    const client = await connect({ 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } });
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
    expect(new Set(called.slice(-2)).size).toBe(2);
    expect(cloud.requests).toHaveLength(1);
    expect(await journalOf(settings)).toMatchObject([{ decision: { way: 'clicked' }, client: 'test 1' }]);
  });
});
