import { describe, expect, test } from 'vitest';
import {
  type ConsentMode,
  type ConsentRequest,
  type ConsentStep,
  consentModes,
  decideConsent,
  isAsStrict,
  reasonAgainstDeciding,
  takesClicks,
  whoDecides,
} from '../../src/changes/required-consent.js';

/** Which of several kinds of consent a call needs: for every input there is, one row. */

const plan = (...ways: readonly ('planId' | 'ticket' | 'page')[]): ConsentStep => ({
  kind: 'plan',
  withPlanId: ways.includes('planId'),
  withClick: ways.includes('ticket'),
  withPage: ways.includes('page'),
});
/** Nobody could agree to it. */
const deadEnd = { ...plan(), isDeadEnd: true } as ConsentStep;
const ask: ConsentStep = { kind: 'ask' };
const redeem: ConsentStep = { kind: 'redeem' };
const status: ConsentStep = { kind: 'status' };
const byOption: ConsentStep = { kind: 'given', how: 'option' };
const withoutAny: ConsentStep = { kind: 'given', how: 'off' };
const refuse: ConsentStep = { kind: 'refuse', problem: expect.any(String) };

/**
 * A dot stands for either. `client` is what there is: a client that can ask its user, in a question that holds the plan or is too long (`big`), or shows views,
 * and a page to sign in to, or one here on this machine. `call` is what the call brings: planOnly, planId, a yes beforehand.
 */
const rows: readonly (readonly [mode: string, client: string, call: string, ConsentStep])[] = [
  // A plan that is there already is only looked at.
  ['........', '...  ....  ....', 'planOnly planId ...', status],
  // Only the plan is wanted: it is always given, with what would carry it out, and waits nowhere.
  ['ask     ', 'ask  ....  ....', 'planOnly ------ ...', plan()],
  ['(ask|human) *', 'big  ----  (page|here)', 'planOnly ------ ...', plan()],
  ['(ask|human) *', 'big  ----  ----', 'planOnly ------ ...', deadEnd],
  ['(ask|human) *', 'big  view  ....', 'planOnly ------ ...', plan('ticket')],
  ['ask     ', '---  view  ....', 'planOnly ------ ...', plan('planId', 'ticket')],
  ['ask     ', '---  ----  ....', 'planOnly ------ ...', plan('planId')],
  ['human   ', 'ask  ....  ....', 'planOnly ------ ...', plan()],
  ['human   ', '---  view  ....', 'planOnly ------ ...', plan('ticket')],
  ['human   ', '---  ----  (page|here)', 'planOnly ------ ...', plan()],
  ['human   ', '---  ----  ----', 'planOnly ------ ...', deadEnd],
  ['approval', '...  ....  page', 'planOnly ------ ...', plan()],
  ['approval', '...  ....  (----|here)', 'planOnly ------ ...', deadEnd],
  ['plan    ', '...  ....  ....', 'planOnly ------ ...', plan('planId')],
  ['off     ', '...  ....  ....', 'planOnly ------ ...', plan()],
  // Nobody is asked.
  ['off     ', '...  ....  ....', '-------- ...... ...', withoutAny],
  // A yes beforehand counts, but not where a person has to decide.
  ['ask     ', '...  ....  ....', '-------- ...... yes', byOption],
  ['plan    ', '...  ....  ....', '-------- ...... yes', byOption],
  ['human   ', '...  ....  ....', '-------- ...... yes', refuse],
  ['approval', '...  ....  ....', '-------- ...... yes', refuse],
  // Whoever can be asked is asked, whatever planId the call brings.
  ['ask     ', 'ask  ....  ....', '-------- ...... ---', ask],
  ['human   ', 'ask  ....  ....', '-------- ...... ---', ask],
  // A plan for which a question is unfit is decided in the view or on a page, and no planId carries it out.
  ['(ask|human) *', 'big  ....  ....', '-------- planId ---', status],
  ['(ask|human) *', 'big  view  page', '-------- ------ ---', plan('ticket', 'page')],
  ['(ask|human) *', 'big  view  (----|here)', '-------- ------ ---', plan('ticket')],
  ['(ask|human) *', 'big  ----  (page|here)', '-------- ------ ---', plan('page')],
  ['(ask|human) *', 'big  ----  ----', '-------- ------ ---', refuse],
  // Otherwise two calls, a click, or the page.
  ['ask     ', '---  ....  ....', '-------- planId ---', redeem],
  ['ask     ', '---  view  page', '-------- ------ ---', plan('planId', 'ticket', 'page')],
  ['ask     ', '---  view  (----|here)', '-------- ------ ---', plan('planId', 'ticket')],
  ['ask     ', '---  ----  (page|here)', '-------- ------ ---', plan('planId', 'page')],
  ['ask     ', '---  ----  ----', '-------- ------ ---', plan('planId')],
  ['plan    ', '...  ....  ....', '-------- planId ---', redeem],
  ['plan    ', '...  ....  ....', '-------- ------ ---', plan('planId')],
  // Only a person's answer acts: with a planId, one learns what it was.
  ['human   ', '---  ....  ....', '-------- planId ---', status],
  ['human   ', '---  view  page', '-------- ------ ---', plan('ticket', 'page')],
  ['human   ', '---  view  (----|here)', '-------- ------ ---', plan('ticket')],
  ['human   ', '---  ----  (page|here)', '-------- ------ ---', plan('page')],
  ['human   ', '---  ----  ----', '-------- ------ ---', refuse],
  // Only the page is somebody else's.
  ['approval', '...  ....  ....', '-------- planId ---', status],
  ['approval', '...  ....  page', '-------- ------ ---', plan('page')],
  ['approval', '...  ....  (----|here)', '-------- ------ ---', refuse],
];

const booleans = [true, false];
const requests: ConsentRequest[] = consentModes.flatMap((mode) =>
  booleans.flatMap((planOnly) =>
    booleans.flatMap((hasPlanId) =>
      (['none', 'fits', 'unfit'] as const).flatMap((question) =>
        booleans.flatMap((hasView) =>
          (['none', 'signIn', 'local'] as const).flatMap((page) =>
            booleans.map((agreed) => ({ mode, planOnly, hasPlanId, question, hasView, page, agreed })),
          ),
        ),
      ),
    ),
  ),
);

const spelledQuestions = { none: '---', fits: 'ask', unfit: 'big' };
const spelledPages = { none: '----', signIn: 'page', local: 'here' };

const spelled = ({ mode, planOnly, hasPlanId, question, hasView, page, agreed }: ConsentRequest): string =>
  [
    mode.padEnd(8),
    `${spelledQuestions[question]}  ${hasView ? 'view' : '----'}  ${spelledPages[page]}`,
    `${planOnly ? 'planOnly' : '--------'} ${hasPlanId ? 'planId' : '------'} ${agreed ? 'yes' : '---'}`,
  ].join('|');

const isFor = (row: (typeof rows)[number], request: ConsentRequest) =>
  new RegExp(`^${row.slice(0, 3).join('[|]')}$`).test(spelled(request));

test('every input has one row', () => {
  expect(requests).toHaveLength(720);
  for (const request of requests) expect(rows.filter((row) => isFor(row, request)).length, spelled(request)).toBe(1);
});

test.each(rows.map((row) => [row.slice(0, 3).join(' | '), row] as const))('%s', (_row, row) => {
  const [, , , step] = row;
  const covered = requests.filter((request) => isFor(row, request));
  expect(covered).not.toEqual([]);
  for (const request of covered) expect(decideConsent(request), spelled(request)).toEqual(step);
});

test.each([
  ['human', false, 'cannot ask its user'],
  ['human', true, '--yes'],
  ['approval', false, 'no page'],
  ['approval', true, '--yes'],
] as const)('a refusal names the setting "%s", and why (agreed beforehand: %s)', (mode, agreed, why) => {
  const request = { planOnly: false, hasPlanId: false, question: 'none', hasView: false, page: 'none' } as const;
  const step = decideConsent({ ...request, mode, agreed });
  expect(step).toMatchObject({ problem: expect.stringContaining(`CLOUDOPS_CONFIRM is "${mode}"`) });
  expect(step).toMatchObject({ problem: expect.stringContaining(why) });
});

test('a mode is as strict as itself, and as those that leave more to the agent', () => {
  const byStrictness: ConsentMode[] = ['off', 'plan', 'ask', 'human', 'approval'];
  expect(byStrictness.toSorted()).toEqual(consentModes.toSorted());
  for (const [index, mode] of byStrictness.entries())
    for (const [other, than] of byStrictness.entries()) expect(isAsStrict(mode, than)).toBe(index >= other);
});

test.each([
  ['ask', 'view', true],
  ['human', 'view', true],
  ['approval', 'view', false],
  ['plan', 'view', false],
  ['off', 'view', false],
  ['ask', 'page', true],
  ['human', 'page', true],
  ['approval', 'page', true],
  ['plan', 'page', false],
  ['off', 'page', false],
] as const)('%s: a click in a %s counts: %j', (mode, where, counts) => {
  expect(takesClicks(mode, where)).toBe(counts);
});

test.each([
  ['approval', 'signIn', 'somebody other than the user'],
  ['ask', 'signIn', 'a person who signs in'],
  ['human', 'local', 'the person at this machine'],
  ['human', 'none', 'the user'],
  ['plan', 'signIn', 'the user'],
] as const)('%s, with the page %s: a plan waits for %s', (mode, page, whom) => {
  expect(whoDecides(mode, page).text).toContain(whom);
});

describe('who decides on the page, and what keeps others from it', () => {
  test.each<readonly [ConsentMode, string, 'alice' | 'bob', boolean, string | undefined]>([
    ['approval', 'with the scope, on the change of another', 'bob', true, undefined],
    ['approval', 'with the scope, on their own', 'alice', true, 'Your own'],
    ['approval', 'without the scope, on the change of another', 'bob', false, 'the scope cloudops:approve'],
    ['approval', 'without the scope, on their own', 'alice', false, 'the scope cloudops:approve'],
    ...(['ask', 'human'] as const).flatMap(
      (mode): (readonly [ConsentMode, string, 'alice' | 'bob', boolean, string | undefined])[] => [
        [mode, 'on their own', 'alice', false, undefined],
        [mode, 'with the scope, on the change of another', 'bob', true, undefined],
        [mode, 'without the scope, on the change of another', 'bob', false, 'by somebody else'],
      ],
    ),
    ['plan', 'with the scope', 'bob', true, 'This server'],
    ['off', 'with the scope', 'bob', true, 'This server'],
  ])('%s: a person %s', (mode, _who, person, mayApprove, why) => {
    const reason = reasonAgainstDeciding({ mode, caller: 'alice', person, mayApprove });
    if (why === undefined) expect(reason).toBeUndefined();
    else expect(reason?.text).toContain(why);
  });
});
