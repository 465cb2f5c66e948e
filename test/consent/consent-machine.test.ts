import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Asker, Reply } from '../../src/consent/asker.js';
import { type ConsentMode, consentModes } from '../../src/consent/decision.js';
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
  readonly reply: Reply;
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

async function live(mode: ConsentMode, steps: readonly Step[]): Promise<void> {
  const kept = createMemoryJournal();
  const issued = new Map<string, ConsentClaims>();
  const tokens: ConsentTokens = {
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
  };
  const acted: { what: string; allowed: boolean }[] = [];
  const redeemed = new Set<string>();
  let waitedMs = 0;
  const now = () => new Date(Date.now() + waitedMs);

  for (const { what, canAsk, option, reply, answersAfterMs, plan, planOnly, allowRepeat, fault, crash } of steps) {
    let requests = 0;
    let agreed = false;
    const httpClient: HttpClient = {
      send: async () => {
        if (crash === 'after the intent') throw new ProcessEnded();
        if (fault !== 'never arrived') requests += 1;
        if (crash === 'after sending') throw new ProcessEnded();
        return answers[fault];
      },
      close: async () => undefined,
    };
    const crashed = () => crash !== 'none' && crash !== 'after the answer';
    const journal: Journal = {
      ...kept,
      end: async (ending) => {
        if (crashed() || crash === 'after the answer') throw new ProcessEnded();
        return kept.end(ending);
      },
    };
    const asker: Asker = {
      ask: async () => {
        waitedMs += answersAfterMs;
        agreed = reply === 'agreed' && answersAfterMs >= 1000;
        return reply;
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
    const planTokens = [...issued].filter(([, grant]) => grant.use === 'plan').map(([token]) => token);
    const planId = { none: undefined, latest: planTokens.at(-1), 'any earlier': planTokens[0], 'made up': 'token-x' }[
      plan
    ];
    const args = {
      backupId: 'a'.repeat(32),
      instanceId: what,
      planOnly,
      allowRepeat,
      ...(planId !== undefined && { planId }),
    };
    const grant = planId === undefined ? undefined : issued.get(planId);
    const result = await carryOut(restoreInstance, args, {
      signal: never,
      tokens,
      client: 'test',
      agreed: option,
      asker: canAsk ? asker : undefined,
    });

    // No request without consent.
    if (requests > 0) {
      expect(planOnly).toBe(false);
      const asks = canAsk && (mode === 'ask' || mode === 'human');
      if (option && mode !== 'off') {
        expect(mode === 'human').toBe(false);
        expect((await kept.list({})).at(-1)?.consent).toBe('option');
      } else if (asks) expect(agreed).toBe(true);
      else if (mode !== 'off') {
        expect(mode === 'human').toBe(false);
        expect(grant?.use).toBe('plan');
        expect(redeemed.has(grant?.nonce ?? '')).toBe(false);
        redeemed.add(grant?.nonce ?? '');
      }
    }
    // Never two requests that may both have acted, unless the second was asked for as such.
    expect(requests).toBeLessThanOrEqual(1);
    if (requests > 0 && mayHaveActed(fault)) {
      if (acted.some((earlier) => earlier.what === what)) expect(allowRepeat).toBe(true);
      acted.push({ what, allowed: allowRepeat });
    }
    // What may have happened is never told as failed.
    if (requests > 0 && mayHaveActed(fault) && result.kind === 'failed')
      expect(result.failure.mayHaveHappened).toBe(true);

    // The process ended: the next one settles what it left.
    if (crash !== 'none')
      for (const { id } of await kept.listOpen())
        await kept.end({ id, time: new Date().toISOString(), outcome: 'unknown' });
    for (const mutation of await kept.list({})) expect(mutation.ending, mutation.id).toBeDefined();
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
