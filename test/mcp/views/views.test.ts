import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { afterEach, describe, expect, test } from 'vitest';
import { startSandbox } from '../../../sandbox/sandbox.js';
import type { Budget, ConsentMode } from '../../../src/calls/account.js';
import { readScope, writeScope } from '../../../src/calls/policy.js';
import type { Changes } from '../../../src/changes/store.js';
import { changeToolNames } from '../../../src/mcp/server-tools.js';
import {
  appsExtension,
  changeKey,
  decideTool,
  partsKey,
  viewMimeType,
  viewUris,
} from '../../../src/mcp/views/view-contract.js';
import { createServer } from '../../../src/server.js';
import { operations } from '../../../src/tools/index.js';
import { restoreInstance } from '../../../src/tools/restore-instance.js';
import { readOutcome, readProposedChange } from '../../../ui/change/read-change.js';
import { readParts } from '../../../ui/upload/read-parts.js';
import { memoryStore, testCaller } from '../../support/caller.js';
import { type Era, eras } from '../../support/in-process.js';

const withViews = { extensions: { [appsExtension]: { mimeTypes: [viewMimeType] } } };
const restore = { name: restoreInstance.name, arguments: restoreInstance.example };

interface Setup {
  readonly era: Era;
  readonly confirm?: ConsentMode;
  readonly capabilities?: Record<string, object>;
  readonly readOnly?: boolean;
  readonly store?: Changes;
  readonly budget?: Budget;
  /** Who calls, where callers have names. */
  readonly caller?: string;
  readonly now?: () => Date;
  readonly sandbox?: Awaited<ReturnType<typeof startSandbox>>;
}

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const clock = () => new Date('2026-11-20T12:00:00Z');

/** A client and a server in this process, on a sandbox. */
async function connect({ era, confirm = 'human', capabilities = withViews, readOnly = false, ...setup }: Setup) {
  let waitedMs = 0;
  const now = () => new Date((setup.now ?? clock)().getTime() + waitedMs);
  const { store = memoryStore(now), budget } = setup;
  /** The user reads what is shown. */
  const read = () => {
    waitedMs += 3000;
  };
  const sandbox =
    setup.sandbox ?? (await startSandbox({ now, keys: { accessKeyId: 'SANDBOX', secretAccessKey: 'sandbox' } }));
  if (setup.sandbox === undefined) opened.push(() => sandbox.close());
  const policy = { readOnly, tools: undefined };
  const caller = testCaller('', {
    cloud: sandbox.cloud,
    now,
    policy,
    confirm,
    store,
    ...(budget !== undefined && { budget }),
  });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const server = {
    ...caller.server,
    ...(setup.caller !== undefined && { principal: { name: setup.caller, scopes: [readScope, writeScope] } }),
  };
  const handle = serveStdio(() => createServer(server), { transport: serverSide });
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode: era } });
  await client.connect(clientSide);
  opened.push(
    () => caller.close(),
    () => handle.close(),
    () => client.close(),
  );
  const plan = async (args: Record<string, unknown> = restore.arguments) => {
    const result = await client.callTool({ ...restore, arguments: args });
    return { result, proposed: readProposedChange(result._meta) };
  };
  const decide = async (ticket: unknown, decision: unknown) => {
    read();
    const result = await client.callTool({ name: decideTool, arguments: { ticket, decision } });
    return { result, outcome: readOutcome(result._meta) };
  };
  const requests = async () => (await store.newest({ limit: 50 })).filter(({ state }) => state === 'accepted').length;
  const decided = async () => {
    const [newest] = await store.newest({ limit: 1 });
    return { state: newest?.state, way: newest?.decision?.way };
  };
  const tell = async (name: string, args: Record<string, unknown>) =>
    Object((await client.callTool({ name, arguments: args })).structuredContent);
  return { client, plan, read, decide, requests, decided, tell, store, sandbox, logged: caller.logged };
}

/** What a person reads whose click came after another decision. */
const tooLate = (standing: string) =>
  expect.stringMatching(new RegExp(`^Too late: ${standing} \\d+ s before you\\. Your click changed nothing\\.$`));

/** Everything of a result that a model can see. */
const seen = ({ content, structuredContent }: { content?: unknown; structuredContent?: unknown }) =>
  JSON.stringify([content, structuredContent]);

describe.each(eras)('a client of %s that shows views', (_, era) => {
  test('is told of the views, and of the tool behind their buttons', async () => {
    const { client } = await connect({ era });
    const { tools } = await client.listTools();
    const uris = Object.fromEntries(tools.map(({ name, _meta }) => [name, Object(_meta?.ui).resourceUri]));
    expect(uris).toMatchObject({ list_parts: viewUris.upload, restore_instance: viewUris.change });
    expect(tools.find(({ name }) => name === decideTool)?._meta).toEqual({ ui: { visibility: ['app'] } });
    const { resources } = await client.listResources();
    expect(resources.filter(({ mimeType }) => mimeType === viewMimeType).map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(Object.values(viewUris)),
    );
  });

  test('reads views that allow no network', async () => {
    const { client } = await connect({ era });
    for (const uri of Object.values(viewUris)) {
      const { contents } = await client.readResource({ uri });
      expect(contents[0]).toMatchObject({ mimeType: viewMimeType, _meta: { ui: { csp: {} } } });
      expect(Object(contents[0]).text).toContain("default-src 'none'");
    }
    await expect(client.readResource({ uri: 'ui://cloudops/other' })).rejects.toThrow();
  });

  test('gets the parts of an upload beside what the model reads', async () => {
    const { client } = await connect({ era });
    const upload = { bucket: 'demo-bucket', object: 'backups/2026/database.dump', uploadId: 'demo-upload-in-progress' };
    const result = await client.callTool({ name: 'list_parts', arguments: upload });
    const parts = readParts(result._meta?.[partsKey]) ?? [];
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.every(({ etag }) => /^[0-9a-f]{32}$/.test(etag ?? ''))).toBe(true);
    expect(seen(result)).not.toContain(parts[0]?.etag);
  });

  test('carries out a plan by a click, once', async () => {
    const { plan, decide, requests, decided } = await connect({ era });
    const { result, proposed } = await plan();
    expect(proposed).toMatchObject({ decline: 'Do nothing', expiresAt: '2026-11-20T12:10:00.000Z' });
    expect(result.structuredContent).toMatchObject({ outcome: 'planned' });
    expect(result.structuredContent).toMatchObject({ next: { text: expect.stringContaining('only a click') } });
    expect(await requests()).toBe(0);

    const first = await decide(proposed?.ticket, 'accept');
    expect(first.outcome?.kind).toBe('accepted');
    expect(Object.keys(first.outcome?.requestIds ?? {})).not.toEqual([]);
    const second = await decide(proposed?.ticket, 'accept');
    expect(second.outcome).toMatchObject({ kind: 'accepted', requestIds: first.outcome?.requestIds });
    expect(second.outcome?.earlier ?? '').toMatch(/^The user agreed at .* This click changed nothing\.$/);
    const other = await decide(proposed?.ticket, 'decline');
    expect(other.outcome).toMatchObject({ kind: 'late', sentence: tooLate('the user agreed') });
    expect(await requests()).toBe(1);
    expect(await decided()).toEqual({ state: 'accepted', way: 'clicked' });
  });

  test('keeps a plan on which a click came too soon, and asks to read it first', async () => {
    const { client, plan, decide, requests } = await connect({ era });
    const { proposed } = await plan();
    const soon = await client.callTool({
      name: decideTool,
      arguments: { ticket: proposed?.ticket, decision: 'accept' },
    });
    expect(readOutcome(soon._meta)).toMatchObject({ kind: 'uncounted', sentence: 'Please read the plan first.' });
    expect(await requests()).toBe(0);
    expect((await decide(proposed?.ticket, 'accept')).outcome?.kind).toBe('accepted');
  });

  test('turns a plan down by a click, which is written down and spends the plan', async () => {
    const { plan, decide, requests, decided } = await connect({ era });
    const { proposed } = await plan();
    expect((await decide(proposed?.ticket, 'decline')).outcome?.kind).toBe('declined');
    expect(await decided()).toEqual({ state: 'declined', way: 'clicked' });
    expect((await decide(proposed?.ticket, 'accept')).outcome).toMatchObject({
      kind: 'late',
      sentence: tooLate('the user declined'),
      details: ['Nothing was sent.'],
      isOfPlan: true,
    });
    expect(await requests()).toBe(0);
  });

  test('learns what became of a plan that it shows again', async () => {
    const { plan, decide, requests } = await connect({ era });
    const { proposed } = await plan();
    expect((await decide(proposed?.ticket, 'look')).outcome).toBeUndefined();
    const { outcome } = await decide(proposed?.ticket, 'accept');
    expect((await decide(proposed?.ticket, 'look')).outcome).toEqual({ ...outcome, isOfPlan: true });
    expect(await requests()).toBe(1);
  });

  test('learns that its plan ended with a refusal, also by a second click', async () => {
    const budget = { mostChanges: 1, windowMs: 60_000 };
    const { plan, decide, requests } = await connect({ era, budget });
    const { proposed: earlier } = await plan({ ...restore.arguments, instanceId: 'earlier' });
    const { proposed } = await plan();
    await decide(earlier?.ticket, 'accept');
    const first = await decide(proposed?.ticket, 'accept');
    expect(first.outcome).toMatchObject({ kind: 'refused', sentence: expect.stringMatching(/used up/) });
    expect(first.outcome?.isOfPlan).toBe(false);
    const ended = { kind: 'refused', isOfPlan: true };
    expect((await decide(proposed?.ticket, 'look')).outcome).toMatchObject(ended);
    expect((await decide(proposed?.ticket, 'accept')).outcome).toMatchObject(ended);
    expect(await requests()).toBe(1);
  });

  test('gets the outcome by a second click, even if the plan permitted a repetition', async () => {
    const { plan, decide, requests } = await connect({ era });
    const { proposed } = await plan({ ...restore.arguments, allowRepeat: true });
    await decide(proposed?.ticket, 'accept');
    const second = await decide(proposed?.ticket, 'accept');
    expect(second.outcome).toMatchObject({ kind: 'accepted', earlier: expect.anything() });
    expect(await requests()).toBe(1);
  });

  test('has the outcome of a click on an expired plan that was decided in time', async () => {
    let time = clock().getTime();
    const { plan, decide } = await connect({ era, now: () => new Date(time) });
    const { proposed } = await plan();
    await decide(proposed?.ticket, 'accept');
    time += 11 * 60_000;
    const late = await decide(proposed?.ticket, 'accept');
    expect(late.outcome).toMatchObject({ kind: 'accepted', earlier: expect.anything() });
  });

  test('sees what a plan risks, where it goes and how else it can be decided', async () => {
    const { plan } = await connect({ era, confirm: 'ask' });
    expect((await plan()).proposed).toMatchObject({
      risks: ['costs money'],
      isSandbox: false,
      defaults: [
        { name: 'server type', value: 'e-large' },
        { name: 'zone', value: 'east-11' },
      ],
      otherWays: [expect.stringContaining('cloudops-mcp call')],
    });
  });

  test('never shows a model a ticket', async () => {
    const { client, plan, decide, store, logged } = await connect({ era });
    const { result, proposed } = await plan();
    const ticket = proposed?.ticket ?? '';
    expect(ticket.length).toBeGreaterThan(40);
    const decided = await decide(ticket, 'accept');
    const { resources } = await client.listResources();
    const texts = await Promise.all(resources.map(({ uri }) => client.readResource({ uri })));
    const everything = JSON.stringify([
      seen(result),
      seen(decided.result),
      decided.result._meta,
      texts,
      await store.newest({ limit: 50 }),
      logged,
    ]);
    expect(everything).not.toContain(ticket);
    expect(everything).not.toContain(ticket.slice(25, 40));
  });

  test('does not let its agent confirm a plan with buttons', async () => {
    const { plan, tell, requests } = await connect({ era, confirm: 'ask' });
    const { changeId } = Object((await plan()).result.structuredContent);
    const confirmed = await tell('confirm_change', { changeId, thing: restoreInstance.example.instanceId });
    expect(confirmed).toMatchObject({ code: 'NotConfirmable', mayHaveHappened: false });
    expect(await requests()).toBe(0);
  });

  test.each([
    ['accept', { outcome: 'accepted', answer: expect.any(Object) }],
    ['decline', { code: 'Declined' }],
  ])('tells its agent of a click to %s', async (decision, told) => {
    const { plan, decide, tell } = await connect({ era, confirm: 'ask' });
    const { result, proposed } = await plan();
    await decide(proposed?.ticket, decision);
    const { changeId } = Object(result.structuredContent);
    expect(await tell('get_change', { changeId })).toMatchObject({ ...told, changeId });
  });

  test('is asked in a form where it has forms, and its view shows the outcome', async () => {
    const capabilities = { ...withViews, elicitation: { form: {} } };
    const { client, plan, read } = await connect({ era, capabilities });
    const questions: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params.message);
      read();
      return { action: 'accept', content: { decision: 'Create server "restored-server" (costs money)' } };
    });
    const { result, proposed } = await plan();
    expect(questions).toHaveLength(1);
    expect(proposed).toBeUndefined();
    expect(readOutcome(result._meta)?.kind).toBe('accepted');
  });

  test.each(['plan', 'off'] as const)('gets no ticket in the mode %s', async (confirm) => {
    const { plan } = await connect({ era, confirm });
    expect((await plan()).proposed?.ticket).toBeUndefined();
  });

  test('gets the outcome of a change that needs no click', async () => {
    const { plan } = await connect({ era, confirm: 'off' });
    expect(readOutcome((await plan()).result._meta)?.kind).toBe('accepted');
  });

  test('has no buttons where only reading is allowed', async () => {
    const { client } = await connect({ era, readOnly: true });
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain(decideTool);
  });
});

describe('a ticket that is not one', () => {
  const era = 'legacy';

  test.each([undefined, '', 'ticket', 7, 'A'.repeat(400_000)])('%j is refused, and nothing is sent', async (ticket) => {
    const { decide, requests } = await connect({ era });
    expect((await decide(ticket, 'accept')).outcome?.kind).toBe('refused');
    expect(await requests()).toBe(0);
  });

  test('one that was altered in any place is refused', async () => {
    const { plan, decide, requests } = await connect({ era });
    const ticket = (await plan()).proposed?.ticket ?? '';
    // The first half names the plan, and another name is that of no plan.
    for (const [at, kind] of [
      [0, 'expired'],
      [20, 'expired'],
      [22, 'refused'],
      [25, 'refused'],
      [ticket.length - 2, 'refused'],
    ] as const) {
      const altered = ticket.slice(0, at) + (ticket[at] === 'A' ? 'B' : 'A') + ticket.slice(at + 1);
      expect((await decide(altered, 'accept')).outcome?.kind).toBe(kind);
    }
    expect(await requests()).toBe(0);
  });

  test('cannot be clicked by whoever reads the journal', async () => {
    const { plan, decide, requests, store } = await connect({ era });
    await plan();
    const [waiting] = await store.waiting({});
    for (const known of [waiting?.proof, waiting?.id, `${waiting?.id}.${waiting?.proof?.slice(0, 22)}`])
      expect((await decide(known, 'accept')).outcome?.kind).toBe('refused');
    expect(await requests()).toBe(0);
  });

  test('one of another server is refused', async () => {
    const other = await connect({ era });
    const { decide, requests } = await connect({ era });
    expect((await decide((await other.plan()).proposed?.ticket, 'accept')).outcome?.kind).toBe('expired');
    expect(await requests()).toBe(0);
  });

  test('one of another caller is refused', async () => {
    const one = await connect({ era, caller: 'one' });
    const other = await connect({ era, caller: 'other', store: one.store, sandbox: one.sandbox });
    const { proposed } = await one.plan();
    expect((await other.decide(proposed?.ticket, 'accept')).outcome?.kind).toBe('expired');
    expect(await one.requests()).toBe(0);
    expect((await one.decide(proposed?.ticket, 'accept')).outcome?.kind).toBe('accepted');
  });

  test('one that a client without views brings is refused, were it genuine', async () => {
    const one = await connect({ era });
    const without = await connect({ era, capabilities: {}, store: one.store, sandbox: one.sandbox });
    const { proposed } = await one.plan();
    await expect(without.decide(proposed?.ticket, 'accept')).rejects.toMatchObject({ code: -32602 });
    expect(await one.requests()).toBe(0);
  });

  test('one of a replica is taken, once among both', async () => {
    const one = await connect({ era });
    const two = await connect({ era, store: one.store, sandbox: one.sandbox });
    const { proposed } = await one.plan();
    one.read();
    expect((await two.decide(proposed?.ticket, 'accept')).outcome).toMatchObject({ kind: 'accepted' });
    expect((await one.decide(proposed?.ticket, 'accept')).outcome).toMatchObject({
      kind: 'accepted',
      earlier: expect.anything(),
    });
  });

  test('one whose plan was made for another endpoint is refused', async () => {
    const one = await connect({ era });
    const elsewhere = await connect({ era, store: one.store });
    const { proposed } = await one.plan();
    one.read();
    const { outcome } = await elsewhere.decide(proposed?.ticket, 'accept');
    expect(outcome).toMatchObject({ kind: 'refused', details: [expect.stringContaining('endpoint')] });
    expect(await elsewhere.requests()).toBe(0);
  });

  test('one that is older than its plan holds is expired', async () => {
    let time = clock().getTime();
    const { plan, decide, requests } = await connect({ era, now: () => new Date(time) });
    const { proposed } = await plan();
    time += 10 * 60_000 + 1;
    expect((await decide(proposed?.ticket, 'accept')).outcome?.kind).toBe('expired');
    expect(await requests()).toBe(0);
  });

  test.each(['yes', undefined, 'ACCEPT'])('a decision %j is none', async (decision) => {
    const { plan, decide, requests } = await connect({ era });
    expect((await decide((await plan()).proposed?.ticket, decision)).outcome?.kind).toBe('refused');
    expect(await requests()).toBe(0);
  });
});

test.each(eras)('a client of %s that shows no views finds everything as if there were none', async (_, era) => {
  const { client } = await connect({ era, capabilities: {}, confirm: 'ask' });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...operations.filter(({ extension }) => extension === undefined).map(({ name }) => name),
    ...changeToolNames,
  ]);
  expect(JSON.stringify([tools, await client.listResources(), await client.listResourceTemplates()])).not.toContain(
    'ui://',
  );
  expect((await client.callTool(restore))._meta?.[changeKey]).toBeUndefined();
  await expect(
    client.callTool({ name: decideTool, arguments: { ticket: 'x', decision: 'accept' } }),
  ).rejects.toMatchObject({ code: -32602 });
});
