import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PlanInput } from '../../src/changes/plan.js';
import { createPlans, holdsSecret } from '../../src/consent/plans.js';
import { Refusal, refusalFailure } from '../../src/calls/refusal.js';
import { createPlanFiles } from '../../src/journal/plan-files.js';
import { createMemoryPlanStore, type PlanStore } from '../../src/journal/plan-store.js';
import { detail, forReader, say, textFor, time as timeText } from '../../src/util/safe-text.js';
import { createSeal } from '../../src/util/seal.js';
import { accepted } from '../support/decisions.js';
import { keptPlanAt } from '../support/kept-plan.js';

/** Plans that wait for a person are sealed, bounded, and erased at their end. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-plans-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const keys = ['k'.repeat(32)] as const;
const start = Date.parse('2026-11-21T12:00:00Z');
let time = start;
beforeEach(() => {
  time = start;
});
const now = () => new Date(time);

const waiting = keptPlanAt(start, { caller: 'alice' });

describe('what waits is sealed', () => {
  const open = (key: string = keys[0], lifetimeMs = 1000) =>
    createPlans({ store: createPlanFiles(folder), keys: () => [key], now, lifetimeMs });

  test('and comes back as it was, to any process with the key', async () => {
    expect(await open().add(waiting)).toBe('added');
    expect(await open().find(waiting.nonce)).toEqual({ ...waiting, state: 'waiting', expiresAt: time + 1000 });
    for (const name of readdirSync(folder)) {
      const written = name + readFileSync(join(folder, name), 'utf8');
      for (const word of ['alice', 'wiki', 'restore']) expect(written).not.toContain(word);
    }
  });

  test('and is nothing with another key, altered, or under the name of another plan', async () => {
    await open().add(waiting);
    expect(await open('o'.repeat(32)).find(waiting.nonce)).toBeUndefined();
    expect(await open('o'.repeat(32)).claim(waiting.nonce, accepted)).toBe('unknown');
    const [name = ''] = readdirSync(folder);
    const path = join(folder, name);
    const sealed = readFileSync(path, 'utf8');
    const other = 'fedcba9876543210';
    writeFileSync(join(folder, name.replace(waiting.nonce, other)), sealed);
    expect(await open().find(other)).toBeUndefined();
    writeFileSync(path, `${sealed.slice(0, 30)}${sealed[30] === 'A' ? 'B' : 'A'}${sealed.slice(31)}`);
    expect(await open().find(waiting.nonce)).toBeUndefined();
    expect(await open().list()).toEqual([]);
  });

  test('and waits no longer than it was made for, whatever its file is called', async () => {
    await open().add(waiting);
    const [name = ''] = readdirSync(folder);
    renameSync(join(folder, name), join(folder, name.replace(/\d{13}/, '9999999999999')));
    expect(await open().find(waiting.nonce)).toBeUndefined();
    expect(await open().claim(waiting.nonce, accepted)).toBe('unknown');
    expect(await open().list()).toEqual([]);
  });

  test('and is erased at its end', async () => {
    await open(keys[0], -1).add(waiting);
    expect(await open().find(waiting.nonce)).toBeUndefined();
    await open().list();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('of what waits', () => {
  const open = (store: PlanStore = createMemoryPlanStore()) =>
    createPlans({ store, keys: () => keys, now, lifetimeMs: 1000 });
  const failure = refusalFailure('restore_instance', new Refusal('Declined', []), { isChange: true });
  const outcome = { kind: 'failed', failure } as const;

  test('the end is told as it was asked for, until the plan expires', async () => {
    const plans = open();
    expect(plans.expiry()).toBe(start + 1000);
    await plans.add(waiting);
    expect(await plans.countWaiting()).toBe(1);
    expect(await plans.claim(waiting.nonce, accepted)).toBe('claimed');
    expect(await plans.claim(waiting.nonce, { kind: 'declined', person: 'carol', at: start + 1 })).toBe('taken');
    await plans.settle(waiting.nonce, outcome);
    expect(await plans.countWaiting()).toBe(0);
    const settled = { ...waiting, outcome, decision: accepted, state: 'decided', expiresAt: start + 1000 };
    time += 1000;
    expect(await plans.find(waiting.nonce)).toEqual(settled);
    time += 1;
    expect(await plans.find(waiting.nonce)).toBeUndefined();
    expect(await plans.claim(waiting.nonce, accepted)).toBe('unknown');
  });

  test('the oldest comes first, and what has expired is not there', async () => {
    const plans = open();
    for (const [digit, issuedAt] of [
      ['1', 20],
      ['2', 10],
      ['3', 30],
      ['4', -1001],
    ] as const)
      await plans.add({ ...waiting, nonce: digit.repeat(16), issuedAt: start + issuedAt });
    expect((await plans.list()).map(({ nonce }) => nonce[0])).toEqual(['2', '1', '3']);
    await plans.add({ ...waiting, nonce: '5'.repeat(16), caller: undefined, issuedAt: start });
    expect((await plans.list(waiting)).map(({ nonce }) => nonce[0])).toEqual(['2', '1', '3']);
    expect((await plans.list({ caller: undefined })).map(({ nonce }) => nonce[0])).toEqual(['5']);
  });

  test('each caller has twenty at most, and who has no name is a caller too', async () => {
    const plans = open();
    const add = (number: number, caller: string | undefined) =>
      plans.add({ ...waiting, nonce: number.toString(16).padStart(16, '0'), caller });
    for (let number = 0; number < 20; number += 1) expect(await add(number, 'alice')).toBe('added');
    expect(await add(20, 'alice')).toBe('tooMany');
    expect(await add(21, 'bob')).toBe('added');
    for (let number = 30; number < 50; number += 1) expect(await add(number, undefined)).toBe('added');
    expect(await add(50, undefined)).toBe('tooMany');
    time += 1001;
    expect(await plans.add({ ...waiting, issuedAt: time })).toBe('added');
  });

  test('nothing is kept that is larger than any plan that can be shown', async () => {
    const plans = open();
    const large = 'x'.repeat(1024 * 1024);
    expect(await plans.add({ ...waiting, args: { large } })).toBe('tooLong');
    expect(await plans.add({ ...waiting, args: { large: large.slice(0, 700_000) } })).toBe('added');
    await plans.claim(waiting.nonce, accepted);
    await plans.settle(waiting.nonce, { kind: 'failed', failure: { ...failure, code: large } });
    const found = await plans.find(waiting.nonce);
    expect(found).toMatchObject({ state: 'decided' });
    expect(found).not.toHaveProperty('outcome');
  });

  describe('of a plan that is exactly as long as may be', () => {
    const longest = 1024 * 1024;
    /** A store that tells how long the last plan is that it got. */
    function measuring() {
      const store = createMemoryPlanStore();
      let length = 0;
      const plans = open({
        ...store,
        add: async (plan, most) => {
          length = plan.sealed.length;
          return store.add(plan, most);
        },
        update: async (nonce, sealed) => {
          length = sealed.length;
          return store.update(nonce, sealed);
        },
      });
      return { plans, length: () => length };
    }
    /** Four characters of a sealed text are three bytes. */
    const missing = (length: number, wanted = longest) =>
      'x'.repeat(Math.floor((wanted * 3) / 4) - Math.floor((length * 3) / 4));

    test('all is kept, also with the longest decision, and with one more byte nothing', async () => {
      const { plans, length } = measuring();
      const add = (digit: string, large: string) => plans.add({ ...waiting, nonce: digit.repeat(16), args: { large } });
      await add('1', '');
      const large = missing(length(), longest - 4096);
      expect(await add('2', large)).toBe('added');
      expect(length()).toBe(longest - 4096);
      // Control characters take six characters of JSON.
      const decision = { ...accepted, person: '\u0001'.repeat(255), reason: '\u0001'.repeat(200) };
      expect(await plans.claim('2'.repeat(16), decision)).toBe('claimed');
      expect(await plans.find('2'.repeat(16))).toMatchObject({ args: { large }, decision });
      expect(await add('3', `${large}x`)).toBe('tooLong');
    });

    test('the outcome is kept', async () => {
      const { plans, length } = measuring();
      await plans.add(waiting);
      await plans.claim(waiting.nonce, accepted);
      const settle = (code: string) => plans.settle(waiting.nonce, { kind: 'failed', failure: { ...failure, code } });
      await settle('');
      const code = missing(length());
      await settle(code);
      expect(length()).toBe(longest);
      expect(await plans.find(waiting.nonce)).toMatchObject({ outcome: { failure: { code } } });
    });
  });

  test('the outcome is kept later if the store fails, and the log says so', async () => {
    const store = createMemoryPlanStore();
    let failures = 1;
    const update: PlanStore['update'] = async (...given) => {
      failures -= 1;
      if (failures >= 0) throw new Error('the disk is full');
      await store.update(...given);
    };
    const logged: unknown[] = [];
    const log = (...given: readonly unknown[]) => void logged.push(given);
    const plans = createPlans({ store: { ...store, update }, keys: () => keys, now, lifetimeMs: 1000, log });
    await plans.add(waiting);
    await plans.claim(waiting.nonce, accepted);
    await plans.settle(waiting.nonce, outcome);
    expect(logged).toEqual([['error', 'journal', { plan: waiting.nonce, error: 'the disk is full' }]]);
    // The last attempt follows at once.
    await plans.close();
    expect(await plans.find(waiting.nonce)).toMatchObject({ outcome });
  });

  test('a plan that is kept nowhere has no outcome, which is no error', async () => {
    const logged: unknown[] = [];
    const log = (...given: readonly unknown[]) => void logged.push(given);
    const plans = createPlans({ store: createMemoryPlanStore(), keys: () => keys, now, lifetimeMs: 1000, log });
    await plans.settle(waiting.nonce, outcome);
    await plans.close();
    expect(logged).toEqual([]);
  });

  test('the store gets a digest of the caller, and a text that servers of any version open', async () => {
    const store = createMemoryPlanStore();
    const plans = open(store);
    await plans.add({ ...waiting, caller: undefined });
    const [stored] = await store.list();
    const owner = createHash('sha256').update('caller ').digest('hex').slice(0, 16);
    expect(stored).toMatchObject({ nonce: waiting.nonce, owner });
    const associatedData = `${waiting.nonce} ${start + 1000}`;
    const seal = createSeal(() => keys, { purpose: 'cloudops waiting plan', associatedData, longest: 1024 * 1024 });
    expect(seal.open(stored?.sealed ?? '')).toContain('restore_instance');
  });

  test('a plan that nobody has decided on has no end', async () => {
    const plans = open();
    await plans.settle(waiting.nonce, outcome);
    await plans.add(waiting);
    await plans.settle(waiting.nonce, outcome);
    expect(await plans.find(waiting.nonce)).not.toHaveProperty('outcome');
  });

  test('texts can still be shortened, and read for another reader', async () => {
    const summary = say`Create ${'x'.repeat(30)}${detail(say` in ${'a'}`)} at ${timeText('2026-11-20T12:00:00Z')}.`;
    const next = {
      who: 'user',
      action: 'ask',
      text: forReader({ agent: 'Ask the user.', person: 'Check it.' }),
    } as const;
    const plans = open();
    await plans.add({ ...waiting, plan: { ...waiting.plan, summary } });
    await plans.claim(waiting.nonce, accepted);
    await plans.settle(waiting.nonce, { kind: 'failed', failure: { ...failure, next } });
    const found = await plans.find(waiting.nonce);
    expect(found?.plan.summary.parts).toEqual(summary.parts);
    const stored = found?.outcome?.kind === 'failed' ? found.outcome.failure.next.text : say`none`;
    expect(textFor('person', stored).text).toBe('Check it.');
  });

  test('what another version of the server sealed is checked before it is shown', async () => {
    const store = createMemoryPlanStore();
    const found = async (changes: object) => {
      const plans = open(store);
      await store.eraseBefore(Number.POSITIVE_INFINITY);
      await plans.add({ ...waiting, ...changes });
      return plans.find(waiting.nonce);
    };
    const success = { kind: 'succeeded', success: { summary: 'Done.', warnings: [], requestIds: {} } };
    for (const fine of [
      { repeats: true },
      { repeats: 'c-1' },
      { scopes: ['a'] },
      { subject: { digest: 's', name: 'wiki' } },
      { outcome, decision: accepted },
      { outcome: success },
    ])
      expect(await found(fine)).toMatchObject({ ...waiting, ...fine });
    const odd = [
      { digest: 1 },
      { requestKey: 1 },
      { repeats: 1 },
      { issuedAt: '1' },
      { tool: 1 },
      { args: [] },
      { caller: 1 },
    ];
    const others = [
      { scopes: 'a' },
      { client: 1 },
      { plan: 'p' },
      { plan: {} },
      { accept: 1 },
      { subject: 's' },
      { subject: { digest: 's' } },
      { subject: { digest: 1, name: 'wiki' } },
      { outcome: 'done' },
      { outcome: {} },
      { decision: 'accepted' },
      { decision: { ...accepted, person: 1 } },
    ];
    for (const changes of [...odd, ...others]) expect(await found(changes), JSON.stringify(changes)).toBeUndefined();
  });

  test('the store is closed with it', async () => {
    let isClosed = false;
    const close = async () => {
      isClosed = true;
    };
    await open({ ...createMemoryPlanStore(), close }).close();
    expect(isClosed).toBe(true);
  });
});

test.each<readonly [string, object, object, boolean]>([
  ['by value', { credentials: { key: 'MARKER' } }, {}, true],
  ['by name', { credentials: { key: 'MARKER' } }, { 'credentials.key': 'blue-key' }, false],
  [
    'one by name, another by value',
    { credentials: { key: 'MARKER' }, token: 'MARKER' },
    { 'credentials.key': 'blue-key' },
    true,
  ],
  ['none', { credentials: { id: 'a' } }, {}, false],
])('a plan with secrets %s is kept nowhere: %s', (_how, input, nameBySecretPath, holds) => {
  const call = {
    operation: { secrets: ['credentials.key', 'token'] },
    input,
    nameBySecretPath,
  } as unknown as PlanInput;
  expect(holdsSecret(call)).toBe(holds);
});
