import { expect, test } from 'vitest';
import { Refusal, type RefusalCode, refusalFailure, tooLargeToShow } from '../../src/calls/refusal.js';
import { say, textFor } from '../../src/util/safe-text.js';

/** A refusal as the failure that its caller gets. `who-acts.test.ts` has what is the same for all codes. */

const failureOf = (refusal: Refusal, isChange = true) => refusalFailure('restore_instance', refusal, { isChange });
const declined = new Refusal('Declined');

test.each([
  ['agent', 'restore_instance was not sent: the user has not agreed to it.'],
  ['operator', 'restore_instance was not sent: the user has not agreed to it.'],
  // A person sees the change beside it, and does not know the tool's name.
  ['person', 'The user has not agreed to it.'],
] as const)('the summary tells the %s why it was not sent', (reader, text) => {
  expect(textFor(reader, failureOf(declined).summary).text).toBe(text);
  const ofCommand = refusalFailure(say`The command`, declined, { isChange: true }).summary;
  expect(textFor(reader, ofCommand).text).toBe('The command was not sent: the user has not agreed to it.');
});

test('the fields of a refusal take the place of the usual ones', () => {
  const next = { who: 'operator', action: 'configure', text: say`Look.` } as const;
  const more = { changeId: 'c', outcome: 'not sent', warnings: [say`w`], next } as const;
  const problems = [say`Too many plans.`];
  expect(failureOf(new Refusal('PlanRefused', problems, more))).toMatchObject({ ...more, problems });
  const failure = failureOf(new Refusal('Declined', [], { reason: say`${'bob'} declined it` }));
  expect(failure.summary.text).toBe('restore_instance was not sent: "bob" declined it.');
  expect(failure).not.toHaveProperty('reason');
});

test.each<RefusalCode>(['InvalidArguments', 'StateUnavailable'])(
  'of a read says nothing about a change: %s',
  (code) => {
    expect(failureOf(new Refusal(code), false)).not.toHaveProperty('mayHaveHappened');
  },
);

test('a change that is too large to show has to be split, unless the operation says what to do instead', () => {
  const step = (ifTooLarge?: string) => failureOf(tooLargeToShow({ change: ifTooLarge ? { ifTooLarge } : {} })).next;
  expect(step()).toEqual({ who: 'agent', action: 'call', text: say`Split it into smaller changes.` });
  expect(step('Send fewer rules.').text.text).toBe('Send fewer rules.');
});
