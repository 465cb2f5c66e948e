import { describe, expect, test } from 'vitest';
import {
  isRefusal,
  Refusal,
  type RefusalCode,
  refusalCodes,
  refusalFailure,
  tooLargeToShow,
} from '../../src/calls/refusal.js';
import { say, textFor } from '../../src/util/safe-text.js';

/** A refusal as the failure that its caller gets. */

test('a refusal by the configuration tells the operator what to do', () => {
  const { next } = refusalFailure('list_parts', new Refusal('NotAllowed', []), { isChange: false });
  expect(textFor('operator', next.text).text).toBe('Change the setting if you want to allow it.');
});

describe('the summary', () => {
  const summary = (tool: Parameters<typeof refusalFailure>[0], refusal: Refusal) =>
    refusalFailure(tool, refusal, { isChange: true }).summary;
  const declined = new Refusal('Declined', []);

  test.each([
    ['agent', 'restore_instance was not sent: the user has not agreed to it.'],
    ['operator', 'restore_instance was not sent: the user has not agreed to it.'],
    // A person sees the change beside it, and does not know the tool's name.
    ['person', 'The user has not agreed to it.'],
  ] as const)('tells the %s why it was not sent', (reader, text) => {
    expect(textFor(reader, summary('restore_instance', declined)).text).toBe(text);
  });

  test.each(['agent', 'operator', 'person'] as const)(
    'with words in place of a tool is the same for the %s',
    (reader) => {
      expect(textFor(reader, summary(say`The command`, declined)).text).toBe(
        'The command was not sent: the user has not agreed to it.',
      );
    },
  );

  test.each<readonly [RefusalCode, string]>([
    ['UnknownChange', 'restore_instance failed: there is no such change of this caller.'],
    ['StateUnavailable', 'restore_instance failed: the state of the change cannot be read or written at the moment.'],
  ])('for %s does not say that nothing was sent, because an earlier call may have sent it', (code, text) => {
    expect(summary('restore_instance', new Refusal(code, [])).text).toBe(text);
  });

  test('has the reason of the refusal in place of the usual one', () => {
    const refusal = new Refusal('Declined', [], { reason: say`${'bob'} declined it` });
    expect(summary('restore_instance', refusal).text).toBe('restore_instance was not sent: "bob" declined it.');
    expect(refusalFailure('restore_instance', refusal, { isChange: true })).not.toHaveProperty('reason');
  });
});

describe('the failure', () => {
  test('has the code, the problems and the usual next step', () => {
    const problems = [say`Too many plans.`];
    expect(refusalFailure('restore_instance', new Refusal('TooManyWaiting', problems), { isChange: false })).toEqual({
      summary: expect.any(String),
      code: 'TooManyWaiting',
      problems,
      next: { who: 'user', action: 'decide', text: expect.any(String) },
      requestIds: {},
    });
  });

  test('has the fields of the refusal in place of the usual ones', () => {
    const next = { who: 'operator', action: 'configure', text: say`Look.` } as const;
    const more = { changeId: 'c', outcome: 'not sent', defaults: [say`d`], warnings: [say`w`], next } as const;
    expect(refusalFailure('restore_instance', new Refusal('PlanRefused', [], more), { isChange: true })).toMatchObject(
      more,
    );
  });

  test('of a change says that nothing happened', () => {
    expect(refusalFailure('restore_instance', new Refusal('Declined', []), { isChange: true })).toHaveProperty(
      'mayHaveHappened',
      false,
    );
  });

  test.each<RefusalCode>(['UnknownChange', 'StateUnavailable'])(
    'of a change does not say whether an earlier call made it: %s',
    (code) => {
      expect(refusalFailure('restore_instance', new Refusal(code, []), { isChange: true })).not.toHaveProperty(
        'mayHaveHappened',
      );
    },
  );

  test.each<RefusalCode>(['InvalidArguments', 'StateUnavailable'])('of a read says nothing of that: %s', (code) => {
    expect(refusalFailure('list_parts', new Refusal(code, []), { isChange: false })).not.toHaveProperty(
      'mayHaveHappened',
    );
  });
});

test('a change that is too large to show has to be split, unless the operation says what to do instead', () => {
  const failure = (change: Parameters<typeof tooLargeToShow>[0]['change']) =>
    refusalFailure('restore_instance', tooLargeToShow({ change }), { isChange: true });
  const next = { who: 'agent', action: 'call' };
  expect(failure({})).toMatchObject({
    code: 'TooLargeToShow',
    problems: [],
    next: { ...next, text: 'Split it into smaller changes.' },
  });
  const ifTooLarge = 'Send fewer rules.';
  expect(failure({ ifTooLarge })).toMatchObject({ code: 'TooLargeToShow', next: { ...next, text: ifTooLarge } });
});

describe('a code', () => {
  const faults = ['InternalError', 'SenderUnavailable'];

  test('is that of a refusal, unless this server is at fault', () => {
    expect(refusalCodes.filter((code) => !isRefusal(code))).toEqual(faults);
  });

  test.each(['Http403', 'ResponseTimeout', 'toString', ''])('of something else is not: %j', (code) => {
    expect(isRefusal(code)).toBe(false);
  });
});
