import { expect, test } from 'vitest';
import { createActionTokens } from '../../../src/consent/action-tokens.js';
import { Refusal, type RefusalCode, refusedChange } from '../../../src/consent/refusal.js';
import { decide } from '../../../src/mcp/views/decide.js';
import { operations } from '../../../src/tools/index.js';

/** A click in the change view, with the answers of the calls that it makes. */

const start = Date.parse('2026-11-20T12:00:00Z');
const tool = 'restore_instance';

/** Clicks on a plan of eleven minutes ago. The state of the plan is asked for, and its answer is a failure. */
function clickLate(code: RefusalCode) {
  const tokens = createActionTokens(
    () => ['k'.repeat(32)],
    '',
    () => new Date(start + 11 * 60_000),
  );
  const ticket = tokens.seal({ tool, args: {}, claims: { digest: 'd', nonce: 'n', issuedAt: start } });
  const look = async () => refusedChange(tool, new Refusal(code, []));
  return decide({ ticket, decision: 'accept' }, tokens, operations, look);
}

test('an expired plan whose state may not be read any more is expired, and not decided by an earlier click', async () => {
  for (const code of [
    'NotAllowed',
    'NotConfigured',
    'InvalidArguments',
    'KeysUnavailable',
    'StateUnavailable',
  ] as const) {
    const { outcome, earlier } = await clickLate(code);
    expect(outcome).toMatchObject({ failure: { code: 'TicketExpired' } });
    expect(earlier).toBeUndefined();
  }
});

test('an expired plan that was declined in time has that outcome', async () => {
  const { outcome, earlier } = await clickLate('Declined');
  expect(outcome).toMatchObject({ failure: { code: 'Declined' } });
  expect(earlier?.text).toContain('An earlier click');
});
