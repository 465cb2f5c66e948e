import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ZodType } from 'zod';
import { decisionText, type PlanDecision } from '../../src/consent/plan-decision.js';

/** The decision on a plan: as the store has it, and as people read it. */

const at = Date.parse('2026-11-20T10:04:00Z');

describe('a stored decision', () => {
  let schema: ZodType;
  // The schema is made at the first use. Each test makes it again, so that it does not depend on the others.
  beforeEach(async () => {
    vi.resetModules();
    const { planDecisionSchema } = await import('../../src/consent/plan-decision.js');
    schema = planDecisionSchema();
  });

  test.each([
    [{ kind: 'accepted', person: 'bob', at }],
    [{ kind: 'declined', person: 'bob', at, reason: 'Too large.' }],
    [{ kind: 'withdrawn', at }],
  ])('%j is read as it was written', (decision) => {
    expect(schema.parse(decision)).toEqual(decision);
  });

  test.each([
    ['no kind', { at }],
    ['another kind', { kind: '', at }],
    ['no time', { kind: 'accepted' }],
    ['a time that is no number', { kind: 'accepted', at: '2026-11-20T10:04:00Z' }],
    ['a person without a name', { kind: 'accepted', at, person: 7 }],
    ['a reason that is no text', { kind: 'declined', at, reason: {} }],
  ])('with %s is not read', (_what, decision) => {
    expect(schema.safeParse(decision).success).toBe(false);
  });
});

test.each<readonly [PlanDecision, string]>([
  [{ kind: 'accepted', person: 'bob', at }, '"bob" accepted this at 2026-11-20T10:04:00.000Z'],
  [{ kind: 'declined', person: 'bob', at }, '"bob" declined this at 2026-11-20T10:04:00.000Z'],
  [{ kind: 'accepted', at }, 'somebody accepted this at 2026-11-20T10:04:00.000Z'],
  // Only the caller can withdraw a plan, whoever it is.
  [{ kind: 'withdrawn', person: 'bob', at }, 'its caller withdrew this at 2026-11-20T10:04:00.000Z'],
  [{ kind: 'withdrawn', at }, 'its caller withdrew this at 2026-11-20T10:04:00.000Z'],
])('people read the decision %j as a clause', (decision, text) => {
  expect(decisionText(decision).text).toBe(text);
});

test('a name of more than 100 characters is cut', () => {
  const { text } = decisionText({ kind: 'accepted', person: 'n'.repeat(101), at });
  expect(text).toMatch(/^"n{99,100}…" \(cut, 101 characters\) accepted this/);
});
