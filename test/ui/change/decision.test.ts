import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { outcomeKey, outcomeKinds, type ProposedChange } from '../../../src/mcp/views/view-contract.js';
import {
  answered,
  expire,
  mayBeDecided,
  notPassedOn,
  planSeen,
  type Stage,
  sendingStage,
  settlesPlan,
  stateReported,
  textForModel,
  unanswered,
} from '../../../ui/change/decision.js';
import type { ToolResult } from '../../../ui/host/host.js';

const change: ProposedChange = {
  sentence: 'Create it?',
  risks: [],
  isSandbox: false,
  where: [],
  effects: [],
  warnings: [],
  notChecked: [],
  defaults: [],
  tables: [],
  request: '',
  issuedAt: '2026-11-20T12:00:00.000Z',
  expiresAt: '2026-11-20T12:10:00.000Z',
  accept: 'Create it',
  decline: 'Do nothing',
  ticket: 'ticket',
  otherWays: [],
};
/** The stage after a click, which is the same stage if the click is not possible. */
const click = (stage: Stage, decision: 'accept' | 'decline'): Stage => sendingStage(stage, decision) ?? stage;
const open: Stage = { kind: 'open', change };
const after = Date.parse(change.expiresAt);

/** @param isOfPlan true for the outcome with which the plan ended */
const result = (kind?: string, isOfPlan = false): ToolResult => ({
  text: '',
  structured: {},
  meta: kind === undefined ? {} : { [outcomeKey]: { kind, sentence: 'Said.', isOfPlan } },
  isError: false,
});

/** Everything that can come to a view after a click to accept. */
const events = fc.array(
  fc.oneof(
    fc.constant({ name: 'unanswered', to: unanswered }),
    fc.constant({ name: 'not passed on', to: notPassedOn }),
    fc.constant({ name: 'expired', to: (stage: Stage) => expire(stage, after) }),
    fc.constant({ name: 'click', to: (stage: Stage) => click(stage, 'accept') }),
    fc
      .record({ kind: fc.constantFrom(undefined, ...outcomeKinds), isOfPlan: fc.boolean() })
      .map(({ kind, isOfPlan }) => ({
        name: `look ${kind}, ${isOfPlan}`,
        to: (stage: Stage) => stateReported(stage, result(kind, isOfPlan)),
      })),
    fc
      .record({ kind: fc.constantFrom(undefined, ...outcomeKinds), isOfPlan: fc.boolean() })
      .map(({ kind, isOfPlan }) => ({
        name: `seen ${kind}, ${isOfPlan}`,
        to: (stage: Stage) => planSeen(stage, result(kind, isOfPlan)),
      })),
    fc
      .record({ kind: fc.constantFrom(undefined, ...outcomeKinds), isOfPlan: fc.boolean() })
      .map(({ kind, isOfPlan }) => ({
        name: `answer ${kind}, ${isOfPlan}`,
        to: (stage: Stage) => answered(stage, result(kind, isOfPlan)),
      })),
  ),
  { maxLength: 8 },
);

test('once a click got no answer, nothing but an answer of the server says what came of it', () => {
  fc.assert(
    fc.property(events, (following) => {
      let stage = unanswered(click(open, 'accept'));
      for (const { to } of following) {
        stage = to(stage);
        if (stage.kind !== 'ended') expect(['lost', 'sending']).toContain(stage.kind);
        // A plan that has expired without a decision was not sent, so a new plan repeats nothing.
        else if (stage.outcome.isOfPlan === true && stage.outcome.kind === 'expired') return;
        // "expired" and "refused" are said of a click that sent nothing, which is not the first, unless the plan ended with them.
        else if (stage.outcome.isOfPlan !== true)
          expect(['accepted', 'partly', 'rejected', 'unknown', 'declined', 'used']).toContain(stage.outcome.kind);
      }
    }),
  );
});

test('a click that is under way stops the next, and the clock', () => {
  const sending = click(open, 'accept');
  expect(sending).toMatchObject({ kind: 'sending', decision: 'accept', earlierAcceptLost: false });
  expect(click(sending, 'decline')).toBe(sending);
  expect(expire(sending, after)).toBe(sending);
});

test('a plan closes when its time is over', () => {
  expect(expire(open, after - 1)).toBe(open);
  expect(expire(open, after)).toEqual({ kind: 'expired', change });
  expect(click(expire(open, after), 'accept').kind).toBe('expired');
});

test('a plan without a ticket cannot be clicked on', () => {
  const { ticket: _, ...rest } = change;
  const stage: Stage = { kind: 'open', change: rest };
  expect(click(stage, 'accept')).toBe(stage);
});

test('a click that did not leave the host, and one to decline without an answer, leave the plan open', () => {
  expect(notPassedOn(click(open, 'accept')).kind).toBe('open');
  expect(unanswered(click(open, 'decline')).kind).toBe('open');
});

test('a late answer to a click to decline counts, even when the plan has expired meanwhile', () => {
  const stillOpen = unanswered(click(open, 'decline'));
  for (const stage of [stillOpen, expire(stillOpen, after)]) {
    expect(answered(stage, result('declined'))).toMatchObject({ kind: 'ended', outcome: { kind: 'declined' } });
    expect(answered(stage, result('refused'))).toBe(stage);
  }
});

test.each(outcomeKinds)('an answer to an earlier click counts if it settles the plan: %s', (kind) => {
  expect(settlesPlan(result(kind))).toBe(['accepted', 'partly', 'declined'].includes(kind));
  expect(settlesPlan(result(kind, true))).toBe(true);
});

describe('a refusal with which the plan ended', () => {
  const refusal = result('refused', true);
  const ended = { kind: 'ended', outcome: { kind: 'refused', sentence: 'Said.' } };
  const askingAgain = click(unanswered(click(open, 'accept')), 'accept');

  test.each<readonly [string, Stage]>([
    ['an open plan', open],
    ['an expired plan', expire(open, after)],
  ])('closes %s that is shown again', (_what, stage) => {
    expect(stateReported(stage, refusal)).toMatchObject(ended);
  });

  test.each<readonly [string, Stage]>([
    ['"Ask again" was clicked', askingAgain],
    ['a click got no answer', unanswered(click(open, 'accept'))],
    ['another answer left the outcome unknown', answered(askingAgain, result('refused'))],
  ])('says that nothing was sent after %s, and the model gets its text', (_what, stage) => {
    const answer = { ...refusal, text: 'It was not sent.' };
    const shown = answered(stage, answer);
    expect(shown).toMatchObject(ended);
    if (shown.kind === 'ended') expect(textForModel(shown, answer)).toBe('It was not sent.');
  });
});

test('the answer to the first click counts, even after the second learned only that the plan is decided', () => {
  const second = answered(click(unanswered(click(open, 'accept')), 'accept'), result('used'));
  expect(answered(second, result('accepted'))).toMatchObject({ kind: 'ended', outcome: { kind: 'accepted' } });
});

test('the answer to the first click counts, even after that to the second', () => {
  const second = answered(click(unanswered(click(open, 'accept')), 'accept'), result('refused'));
  expect(second).toMatchObject({ kind: 'ended', outcome: { kind: 'unknown' } });
  expect(answered(second, result('accepted'))).toMatchObject({ kind: 'ended', outcome: { kind: 'accepted' } });
});

test('a click that did not leave the host cannot be made again', () => {
  const stage = notPassedOn(click(open, 'accept'));
  expect(click(stage, 'accept')).toBe(stage);
});

test('only a plan that is not fresh may have been decided on before it was shown', () => {
  const issued = Date.parse(change.issuedAt ?? '');
  expect(mayBeDecided(open, issued + 5_000)).toBe(false);
  expect(mayBeDecided(open, issued + 60_000)).toBe(true);
  expect(mayBeDecided(expire(open, after), after)).toBe(true);
  expect(mayBeDecided(click(open, 'accept'), after)).toBe(false);
});

test.each(outcomeKinds)(
  'what became of a plan is shown, and a click that is under way is not disturbed: %s',
  (kind) => {
    const saysNothing = ['expired', 'refused', 'uncounted', 'withdrawn', 'late'].includes(kind);
    expect(stateReported(open, result(kind)).kind).toBe(saysNothing ? 'open' : 'ended');
    const sending = click(open, 'accept');
    expect(stateReported(sending, result(kind))).toBe(sending);
  },
);

describe('the model', () => {
  const textAfter = (stage: Stage, answer: ToolResult) => {
    const ended = answered(stage, answer);
    return ended.kind === 'ended' ? textForModel(ended, answer) : undefined;
  };

  test.each(outcomeKinds.filter((kind) => kind !== 'uncounted'))('gets the text of the only answer: %s', (kind) => {
    expect(textAfter(click(open, 'accept'), { ...result(kind), text: 'Answer.' })).toBe('Answer.');
  });

  test.each(['expired', 'refused', 'uncounted'])(
    'does not read that nothing was sent while an earlier click may have sent it: %s',
    (kind) => {
      const askingAgain = click(unanswered(click(open, 'accept')), 'accept');
      const text = textAfter(askingAgain, { ...result(kind), text: 'It was not sent.' });
      expect(text).toMatch(/the change may have happened/);
      expect(text).not.toContain('It was not sent.');
    },
  );
});

describe('a plan that is settled while it is shown', () => {
  const settled = outcomeKinds
    .filter((kind) => kind !== 'uncounted')
    .map((kind) => [kind, result(kind, true)] as const);

  test.each(settled)('has no buttons any more, and shows its outcome: %s', (kind, seen) => {
    expect(planSeen(open, seen)).toMatchObject(
      kind === 'expired' ? { kind: 'expired' } : { kind: 'ended', change, outcome: { kind } },
    );
  });

  test.each(settled)('leaves a click that is under way to its own answer: %s', (_kind, seen) => {
    const sending = click(open, 'accept');
    expect(planSeen(sending, seen)).toBe(sending);
  });

  test.each(outcomeKinds)('stays open if only the look was answered so: %s', (kind) => {
    const seen = planSeen(open, result(kind));
    if (kind === 'expired') expect(seen).toEqual({ kind: 'expired', change });
    else expect(seen).toBe(open);
  });

  test('shows what came of a click that got no answer', () => {
    const lost = unanswered(click(open, 'accept'));
    expect(planSeen(lost, result('accepted', true))).toMatchObject({ kind: 'ended', outcome: { kind: 'accepted' } });
    expect(planSeen(lost, result('expired'))).toBe(lost);
  });
});

test('a click that did not count leaves the plan open, and says why', () => {
  const answer = result('uncounted');
  expect(answered(click(open, 'accept'), answer)).toEqual({ kind: 'open', change, note: 'Said.' });
});
