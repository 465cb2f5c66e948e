import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallOutcome } from '../../src/calls/context.js';
import type { Elicitor, UserReply } from '../../src/changes/elicitor.js';
import { type ConsentMode, consentModes } from '../../src/changes/required-consent.js';
import { type ConsentClaims, type ConsentTokens, InvalidToken } from '../../src/consent/tokens.js';
import type { Journal } from '../../src/journal/journal.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { HttpClient, HttpFailure, HttpResponse } from '../../src/transport/http-client.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { runs } from '../support/runs.js';

/**
 * Random histories of clients, settings, answers, faults and crashes. Whatever happens: no request without consent, no two
 * requests that may both have acted, and no intent without an outcome or a report of it.
 */

type Fault = 'none' | 'refused by the service' | 'lost' | 'failed' | 'never arrived';
type Crash = 'none' | 'after the intent' | 'after sending' | 'after the answer';

interface Step {
  readonly what: 'first' | 'second';
  readonly canAsk: boolean;
  /** An option of the command line: yes beforehand. */
  readonly option: boolean;
  readonly reply: UserReply['kind'];
  readonly answersAfterMs: number;
  readonly plan: 'none' | 'latest' | 'any earlier' | 'made up';
  readonly planOnly: boolean;
  readonly allowRepeat: boolean;
  readonly fault: Fault;
  readonly crash: Crash;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('first', 'second'),
  canAsk: fc.boolean(),
  option: fc.constantFrom(false, false, false, true),
  reply: fc.constantFrom('agreed', 'agreed', 'notChosen', 'declined', 'cancelled', 'unanswered'),
  answersAfterMs: fc.constantFrom(7, 5000, 5000, 5000),
  plan: fc.constantFrom('none', 'latest', 'latest', 'any earlier', 'made up'),
  planOnly: fc.boolean(),
  allowRepeat: fc.boolean(),
  fault: fc.constantFrom('none', 'none', 'refused by the service', 'lost', 'failed', 'never arrived'),
  crash: fc.constantFrom('none', 'none', 'none', 'after the intent', 'after sending', 'after the answer'),
});

class ProcessEnded extends Error {}

const answers: Record<Fault, HttpResponse | HttpFailure> = {
  none: { kind: 'response', status: 200, headers: {}, body: '{"instance":{}}' },
  'refused by the service': { kind: 'response', status: 400, headers: {}, body: '{"code":"Client.Bad"}' },
  lost: { kind: 'failure', code: 'ConnectionLost', detail: 'lost', mayHaveArrived: true },
  failed: { kind: 'response', status: 500, headers: {}, body: '' },
  'never arrived': { kind: 'failure', code: 'ConnectionRefused', detail: 'refused', mayHaveArrived: false },
};
const mayHaveActed = (fault: Fault) => fault === 'none' || fault === 'lost' || fault === 'failed';

/** A service and a journal with the fault and the crash of a step. */
function brokenBy({ fault, crash }: Step, kept: Journal) {
  let requests = 0;
  const httpClient: HttpClient = {
    send: async () => {
      if (crash === 'after the intent') throw new ProcessEnded();
      if (fault !== 'never arrived') requests += 1;
      if (crash === 'after sending') throw new ProcessEnded();
      return answers[fault];
    },
    close: async () => undefined,
  };
  const journal: Journal = {
    ...kept,
    end: async (ending) => {
      if (crash !== 'none') throw new ProcessEnded();
      return kept.end(ending);
    },
  };
  return { httpClient, journal, requests: () => requests };
}

interface Given {
  /** Whether a person agreed to this call after reading its plan. */
  readonly agreed: boolean;
  /** The consent that the journal has of it. */
  readonly consent: string | undefined;
  /** The plan that its planId stands for. */
  readonly grant: ConsentClaims | undefined;
  /** The nonces of plans that were carried out. */
  readonly redeemed: Set<string>;
}

/** No request without consent. */
function expectConsent(mode: ConsentMode, { planOnly, option, canAsk }: Step, given: Given): void {
  expect(planOnly).toBe(false);
  if (mode === 'off') return;
  if (option) {
    expect(mode).not.toBe('human');
    expect(given.consent).toBe('option');
    return;
  }
  if (canAsk && mode !== 'plan') {
    expect(given.agreed).toBe(true);
    return;
  }
  expect(mode).not.toBe('human');
  expect(given.grant?.use).toBe('plan');
  expect(given.redeemed).not.toContain(given.grant?.nonce);
  given.redeemed.add(given.grant?.nonce ?? '');
}

/** Of a request that may have acted. */
function expectHonest({ what, allowRepeat }: Step, acted: string[], result: CallOutcome): void {
  // Never two, unless the second was asked for as such.
  expect(allowRepeat || !acted.includes(what)).toBe(true);
  acted.push(what);
  // It is never told as failed.
  if (result.kind === 'failed') expect(result.failure.mayHaveHappened).toBe(true);
}

const memoryTokens = (issued: Map<string, ConsentClaims>): ConsentTokens => ({
  read: (token) => memoryTokens(issued).verify(token),
  issue: (claims) => {
    const token = `token-${issued.size}`;
    issued.set(token, { ...claims, digest: claims.digest.slice(0, 32), issuedAt: Date.now() });
    return token;
  },
  verify: (token) => {
    const claims = issued.get(token);
    if (claims === undefined) throw new InvalidToken('forged');
    return claims;
  },
});

function planIdOf(plan: Step['plan'], issued: ReadonlyMap<string, ConsentClaims>): string | undefined {
  const plans = [...issued].filter(([, grant]) => grant.use === 'plan').map(([token]) => token);
  return { none: undefined, latest: plans.at(-1), 'any earlier': plans[0], 'made up': 'token-x' }[plan];
}

/** The next process settles what one that ended has left. */
async function settle(journal: Journal): Promise<void> {
  for (const { id } of await journal.listUnfinished())
    await journal.end({ id, time: new Date().toISOString(), outcome: 'unknown' });
}

async function live(mode: ConsentMode, steps: readonly Step[]): Promise<void> {
  const kept = createMemoryJournal();
  const issued = new Map<string, ConsentClaims>();
  const tokens = memoryTokens(issued);
  const acted: string[] = [];
  const redeemed = new Set<string>();
  let waitedMs = 0;
  const now = () => new Date(Date.now() + waitedMs);

  for (const step of steps) {
    const { what, canAsk, option, reply, answersAfterMs, plan, planOnly, allowRepeat, fault, crash } = step;
    let agreed = false;
    const { httpClient, journal, requests } = brokenBy(step, kept);
    const elicitor: Elicitor = {
      ask: async () => {
        waitedMs += answersAfterMs;
        agreed = reply === 'agreed' && answersAfterMs >= 1000;
        return { kind: reply };
      },
    };
    const { carryOut } = testCaller('http://127.0.0.1:1', {
      httpClient,
      journal,
      confirm: mode,
      now,
      timeoutMs: 5000,
      maximumAttempts: 2,
    });
    const planId = planIdOf(plan, issued);
    const args = {
      backupId: 'a'.repeat(32),
      instanceId: what,
      planOnly,
      allowRepeat,
      ...(planId !== undefined && { planId }),
    };
    const grant = issued.get(planId ?? '');
    const result = await carryOut(restoreInstance, args, {
      signal: never,
      tokens,
      client: 'test',
      agreed: option,
      elicitor: canAsk ? elicitor : undefined,
    });

    expect(requests()).toBeLessThanOrEqual(1);
    if (requests() > 0) {
      const { consent } = (await kept.list({})).at(-1) ?? {};
      expectConsent(mode, step, { agreed, consent, grant, redeemed });
      if (mayHaveActed(fault)) expectHonest(step, acted, result);
    }
    if (crash !== 'none') await settle(kept);
    expect((await kept.list({})).filter(({ ending }) => ending === undefined)).toEqual([]);
  }
  const written = (await kept.list({})).filter(
    ({ ending }) => ending?.outcome === 'accepted' || ending?.outcome === 'unknown',
  );
  expect(written.length).toBeGreaterThanOrEqual(acted.length);
}

test.each(consentModes)('%s: in random histories', async (mode) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => live(mode, steps)),
    { numRuns: runs(500) },
  );
});
