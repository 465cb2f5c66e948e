import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/changes/open-store.js';
import type { Changes } from '../../src/changes/store.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { testCaller } from '../support/caller.js';
import { browserOf, type Decisions, serveDecisions } from '../support/decisions.js';
import { answerOf, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { startServer } from '../support/http-server.js';
import { connectOverStdio } from '../support/in-process.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';
import { startRecoveringPostgres } from '../support/recovering-postgres.js';

/**
 * The journal and its plans go away for two seconds at each moment of a change. Nobody is told that a change was not sent that the cloud
 * got: neither the agent that waits or asks again, nor the person on the page. Afterwards the agent learns the outcome.
 */

const awayMs = 2_000;
/** Longer than the outage and the click take on a busy machine. */
const statusWaitMs = 60_000;
const now = () => new Date();

interface Place {
  readonly store: Changes;
  leave(): void;
  comeBack(): void;
  /** Called when the server has closed the store. */
  close(): void;
}

/** A folder stands in place of the file. */
async function filePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-outage-'));
  const path = join(folder, 'journal.db');
  const store = await openStore(path, now).openChanges();
  // The file is there from now on.
  await store.healthCheck();
  return {
    store,
    leave() {
      renameSync(path, `${path}.away`);
      mkdirSync(path);
    },
    comeBack() {
      rmdirSync(path);
      renameSync(`${path}.away`, path);
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

let postgres: Postgres | undefined;
let databases = 0;
const withPostgres = hasPostgres();
beforeAll(async () => {
  postgres = withPostgres ? await startPostgres() : undefined;
});
afterAll(() => postgres?.remove());

async function databasePlace(): Promise<Place> {
  databases += 1;
  const relay = await startRecoveringPostgres(postgres?.url(`outage_${databases}`) ?? '');
  relay.recovered();
  const store = await openStore(relay.address, now).openChanges();
  await store.healthCheck();
  return {
    store,
    leave: relay.crash,
    comeBack: relay.recovered,
    close: relay.close,
  };
}

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  ['a file', filePlace],
  ...(withPostgres ? [['PostgreSQL', databasePlace] as const] : []),
];

describe.each(places)('%s', (_name, open) => {
  let place: Place;
  let served: Decisions;
  let whenSent: () => Promise<void>;
  let told: unknown[];
  beforeEach(async () => {
    told = [];
    whenSent = async () => undefined;
    place = await open();
    const { store } = place;
    served = await serveDecisions({ wrapStore: () => store, statusWaitMs, onRequest: () => whenSent() });
  });
  afterEach(async () => {
    await served.close();
    place.close();
  });

  const keep = <Answer>(answer: Answer): Answer => {
    told.push(answer);
    return answer;
  };
  const away = async () => {
    place.leave();
    await delay(awayMs);
    place.comeBack();
  };
  /** A plan of alice's that waits. Bob has its page open. */
  async function plan() {
    const answer = await served.ask();
    const id = String(answer.changeId);
    // The store's clock is real, and a click in less than a second would count as that of a program.
    await delay(1_200);
    const browser = browserOf(served);
    await browser.signIn('bob');
    const headers = { origin: served.publicUrl, 'x-csrf-token': await browser.csrfOf(id) };
    const ask = async () => keep(await served.get(id));
    const click = async () => {
      const params = { name: 'decide_change', arguments: { ticket: id, decision: 'accept' } };
      const response = await browser.json(`/decisions/${id}/tool`, params, headers);
      return keep(response.ok ? Object(await response.json()).structuredContent : { status: response.status });
    };
    return { ask, click };
  }
  /** No answer says that a change was not sent that was sent. */
  const expectTruth = () => {
    const falsely = told.filter((answer) => {
      const { mayHaveHappened, summary = '' } = Object(answer);
      return mayHaveHappened === false || String(summary).includes('not sent') || String(summary).includes('Nobody');
    });
    if (served.requests.length > 0) expect(falsely).toEqual([]);
  };

  test('away before the intent: the click may be repeated, and the agent waits', async () => {
    const { ask, click } = await plan();
    const waiting = ask();
    await delay(200);
    const over = away();
    const early = await click();
    await over;
    if (served.requests.length === 0) {
      expect(early).not.toMatchObject({ outcome: 'accepted' });
      told = [];
      expect(await click()).toMatchObject({ outcome: 'accepted' });
    }
    expect(await waiting).toMatchObject({ outcome: 'accepted' });
    expect(served.requests).toHaveLength(1);
    expectTruth();
  });

  test('away while the change is in flight: the person sees its outcome, and so does the agent', async () => {
    const { ask, click } = await plan();
    const waiting = ask();
    await delay(200);
    let over: Promise<void> | undefined;
    whenSent = async () => {
      over = away();
    };
    expect(await click()).toMatchObject({ outcome: 'accepted' });
    expect(await waiting).toMatchObject({ outcome: 'accepted' });
    await over;
    expect(await ask()).toMatchObject({ outcome: 'accepted' });
    expect(served.requests).toHaveLength(1);
    expectTruth();
  });

  test('away after the answer: a look at it keeps its ID and learns nothing false', async () => {
    const { ask, click } = await plan();
    expect(await click()).toMatchObject({ outcome: 'accepted' });
    place.leave();
    const during = await ask();
    expect(during).toMatchObject({ code: 'StateUnavailable', changeId: expect.any(String) });
    expect(during).not.toHaveProperty('mayHaveHappened');
    expect(await click()).not.toMatchObject({ outcome: 'accepted' });
    place.comeBack();
    await expect.poll(ask).toMatchObject({ outcome: 'accepted' });
    expectTruth();
    expect(served.requests).toHaveLength(1);
  });

  test('away while somebody waits for the page: the call goes on to wait', async () => {
    const { ask, click } = await plan();
    const waiting = ask();
    await delay(200);
    await away();
    expect(await click()).toMatchObject({ outcome: 'accepted' });
    expect(await waiting).toMatchObject({ outcome: 'accepted' });
    expectTruth();
  });
});

type Answer = Record<string, unknown>;
type Call = (tool: string, args: object) => Promise<Answer>;

const { name, example } = restoreInstance;

/** An agent that calls a server with the journal and a cloud, by both ways to reach one. */
const transports: Record<string, (store: Changes, cloud: string) => Promise<{ call: Call; close(): Promise<void> }>> = {
  stdio: async (store, cloud) => {
    const client = new Client({ name: 'test', version: '1' });
    const close = await connectOverStdio(client, testCaller(cloud, { store, confirm: 'plan' }));
    const call: Call = async (tool, args) =>
      Object((await client.callTool({ name: tool, arguments: { ...args } })).structuredContent);
    return { call, close };
  },
  HTTP: async (store, cloud) => {
    const server = await serveInProcess({ cloud, caller: { store, confirm: 'plan' } });
    const call: Call = async (tool, args) => {
      const { result } = await answerOf(await post(server.url, toolCall(tool, { ...args })));
      return Object(result?.structuredContent);
    };
    return { call, close: server.close };
  },
};

describe.each(places)('%s, and an agent that carries out a plan itself', (_name, open) => {
  describe.each(Object.entries(transports))('over %s', (_transport, connect) => {
    let place: Place;
    let cloud: Awaited<ReturnType<typeof startServer>>;
    let agent: Awaited<ReturnType<typeof connect>>;
    let whenSent: () => Promise<void>;
    let changeId: unknown;
    const confirm = () => agent.call('confirm_change', { changeId, thing: example.instanceId });
    const get = () => agent.call('get_change', { changeId });
    beforeEach(async () => {
      whenSent = async () => undefined;
      place = await open();
      cloud = await startServer((_request, response) => void whenSent().then(() => response.end('{"instance":{}}')));
      agent = await connect(place.store, cloud.origin);
      ({ changeId } = await agent.call(name, example));
    });
    afterEach(async () => {
      await agent.close();
      await cloud.close();
      place.close();
    });
    const away = async () => {
      place.leave();
      await delay(awayMs);
      place.comeBack();
    };
    /** Confirms, or asks, until the change is accepted. No answer denies a request that the cloud had by then. */
    const askUntilAccepted = () =>
      expect
        .poll(async () => {
          const sent = cloud.requests.length;
          const answer = await (sent > 0 ? get() : confirm());
          if (sent > 0) expect(answer.mayHaveHappened).not.toBe(false);
          return answer;
        })
        .toMatchObject({ outcome: 'accepted' });

    test('away before the intent: the plan can still be carried out', async () => {
      const over = away();
      const early = await confirm();
      if (cloud.requests.length === 0) expect(['StateUnavailable', 'JournalUnavailable']).toContain(early.code);
      await over;
      await askUntilAccepted();
      expect(cloud.requests).toHaveLength(1);
    });

    test('away while the change is in flight: the agent learns its outcome, also when it asks again', async () => {
      let over: Promise<void> | undefined;
      whenSent = async () => {
        over = away();
      };
      expect(await confirm()).toMatchObject({ outcome: 'accepted' });
      await over;
      await askUntilAccepted();
      expect(cloud.requests).toHaveLength(1);
    });

    test('away after the answer: a look at it keeps its ID and learns nothing false', async () => {
      expect(await confirm()).toMatchObject({ outcome: 'accepted' });
      place.leave();
      const during = await get();
      place.comeBack();
      expect(during).toMatchObject({ code: 'StateUnavailable', changeId });
      expect(during).not.toHaveProperty('mayHaveHappened');
      await askUntilAccepted();
      expect(cloud.requests).toHaveLength(1);
    });
  });
});
