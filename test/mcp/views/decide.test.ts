import { expect, test } from 'vitest';
import { createActionTokens } from '../../../src/consent/action-tokens.js';
import { Refusal, type RefusalCode, refusedChange } from '../../../src/calls/refusal.js';
import { decide } from '../../../src/mcp/views/decide.js';
import { operations } from '../../../src/tools/index.js';

/** A click in the change view, with the answers of the calls that it makes. */

const start = Date.parse('2026-11-20T12:00:00Z');
const tool = 'restore_instance';

/** Clicks on a plan of eleven minutes ago. The state of the plan is asked for, and its answer is a failure. */
function clickLate(code: RefusalCode, end: { readonly isOfPlan?: true } = {}) {
  const tokens = createActionTokens(
    () => ['k'.repeat(32)],
    '',
    () => new Date(start + 11 * 60_000),
  );
  const ticket = tokens.seal({ tool, args: {}, claims: { digest: 'd', nonce: 'n', issuedAt: start } });
  const look = async () => ({ ...refusedChange(tool, new Refusal(code, [])), ...end });
  return decide({ ticket, decision: 'accept' }, tokens, operations, look);
}

test.each([
  'NotAllowed',
  'NotConfigured',
  'InvalidArguments',
  'KeysUnavailable',
  'StateUnavailable',
  'InternalError',
  'SenderUnavailable',
] as const)(
  'an expired plan whose state may not be read any more (%s) is expired, and not decided by an earlier click',
  async (code) => {
    const { outcome, earlierDecision } = await clickLate(code);
    expect(outcome).toMatchObject({ failure: { code: 'TicketExpired' } });
    expect(earlierDecision).toBeUndefined();
  },
);

test.each(['Declined', 'NotAllowed', 'KeysUnavailable'] as const)(
  'an expired plan that ended in time with %s has that outcome',
  async (code) => {
    const { outcome, earlierDecision } = await clickLate(code, { isOfPlan: true });
    expect(outcome).toMatchObject({ failure: { code } });
    expect(earlierDecision?.text).toContain('An earlier click');
  },
);
