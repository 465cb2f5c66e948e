import { describe, expect, test } from 'vitest';
import { type ConsentMode, consentModes } from '../../src/calls/account.js';
import { type DecisionWay, decisionWays } from '../../src/changes/change.js';
import {
  type ConsentRequest,
  type ConsentStep,
  decideConsent,
  isAsStrict,
  isWayOf,
  mayConfirm,
  reasonAgainstDeciding,
  whoDecides,
} from '../../src/changes/required-consent.js';

/** Which of several kinds of consent a call needs: for every input there is, one row. */

const plan = (...ways: readonly ('confirm' | 'click' | 'page')[]): ConsentStep => ({
  kind: 'plan',
  options: {
    byForm: false,
    byConfirmation: ways.includes('confirm'),
    byClick: ways.includes('click'),
    onPage: ways.includes('page'),
  },
});
const ask: ConsentStep = { kind: 'ask' };
const byOption: ConsentStep = { kind: 'given', way: 'option' };
const withoutAny: ConsentStep = { kind: 'given', way: 'off' };
const refuse: ConsentStep = { kind: 'refuse', problem: expect.any(String) };

/**
 * A dot stands for either. `client` is what there is: a client that can ask its user, in a question that holds the plan or is too long (`big`), that cannot
 * ask (`---`), or of which nothing is known (`???`); or that shows views; and a page to sign in to, or one here on this machine. `call` is what the call
 * brings: planOnly, a yes beforehand. `who` is whether the caller's token tells which person the caller is.
 */
const rows: readonly (readonly [mode: string, client: string, call: string, ConsentStep, who?: string])[] = [
  // Only the plan is wanted: it is always given, and nobody is asked. A view has its buttons.
  ['(ask|human) *', 'ask  ....  ....', 'planOnly ...', plan()],
  ['(ask|human) *', '(big|---|[?]{3})  ----  ....', 'planOnly ...', plan()],
  ['(ask|human) *', '(big|---|[?]{3})  view  ....', 'planOnly ...', plan('click')],
  ['(plan|off|approval) *', '...  ....  ....', 'planOnly ...', plan()],
  // Nobody is asked.
  ['off     ', '...  ....  ....', '-------- ...', withoutAny],
  // A yes beforehand counts, but not where a person has to decide.
  ['ask     ', '...  ....  ....', '-------- yes', byOption],
  ['plan    ', '...  ....  ....', '-------- yes', byOption],
  ['human   ', '...  ....  ....', '-------- yes', refuse],
  ['approval', '...  ....  ....', '-------- yes', refuse],
  // Whoever can be asked is asked.
  ['(ask|human) *', 'ask  ....  ....', '-------- ---', ask],
  // Otherwise a click, or the page. The agent's word counts only if none of these reaches a person.
  ['(ask|human) *', '(big|---|[?]{3})  view  page', '-------- ---', plan('click', 'page')],
  ['(ask|human) *', '(big|---|[?]{3})  view  (----|here)', '-------- ---', plan('click')],
  ['(ask|human) *', '(big|---|[?]{3})  ----  (page|here)', '-------- ---', plan('page')],
  ['(ask|human) *', '(big|[?]{3})  ----  ----', '-------- ---', refuse],
  ['ask     ', '---  ----  ----', '-------- ---', plan('confirm')],
  ['human   ', '---  ----  ----', '-------- ---', refuse],
  ['plan    ', '...  ....  ....', '-------- ---', plan('confirm')],
  // Only the page is somebody else's.
  ['approval', '...  ....  page', '-------- ---', plan('page'), 'known  '],
  ['approval', '...  ....  page', '-------- ---', refuse, 'unknown'],
  ['approval', '...  ....  (----|here)', '-------- ---', refuse],
];

const booleans = [true, false];
const requests: ConsentRequest[] = consentModes.flatMap((mode) =>
  booleans.flatMap((planOnly) =>
    (['none', 'fits', 'unfit', 'unknown'] as const).flatMap((question) =>
      booleans.flatMap((hasView) =>
        (['none', 'signIn', 'local'] as const).flatMap((page) =>
          booleans.flatMap((agreed) =>
            booleans.map((isUnknownPerson) => ({ mode, planOnly, question, hasView, page, agreed, isUnknownPerson })),
          ),
        ),
      ),
    ),
  ),
);

const spelledQuestions = { none: '---', fits: 'ask', unfit: 'big', unknown: '???' };
const spelledPages = { none: '----', signIn: 'page', local: 'here' };

const spelled = ({ mode, planOnly, question, hasView, page, agreed, isUnknownPerson }: ConsentRequest): string =>
  [
    mode.padEnd(8),
    `${spelledQuestions[question]}  ${hasView ? 'view' : '----'}  ${spelledPages[page]}`,
    `${planOnly ? 'planOnly' : '--------'} ${agreed ? 'yes' : '---'}`,
    isUnknownPerson ? 'unknown' : 'known  ',
  ].join('|');

const isFor = ([mode, client, call, , who = '.......']: (typeof rows)[number], request: ConsentRequest) =>
  new RegExp(`^${[mode, client, call, who].join('[|]')}$`).test(spelled(request));

test('every input has one row', () => {
  expect(requests).toHaveLength(960);
  for (const request of requests) expect(rows.filter((row) => isFor(row, request)).length, spelled(request)).toBe(1);
});

test.each(rows.map((row) => [[...row.slice(0, 3), row[4] ?? ''].join(' | '), row] as const))('%s', (_row, row) => {
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
  const request = { planOnly: false, question: 'none', hasView: false, page: 'none' } as const;
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

test.each<readonly [ConsentMode, readonly DecisionWay[]]>([
  ['off', ['off']],
  ['plan', ['confirmed', 'option']],
  ['ask', ['asked', 'clicked', 'page', 'confirmed', 'option']],
  ['human', ['asked', 'clicked', 'page']],
  ['approval', ['page']],
])('%s: only these decisions count: %j', (mode, ways) => {
  const all = Object.keys(decisionWays) as DecisionWay[];
  expect(all.filter((way) => isWayOf(mode, way)).toSorted()).toEqual(ways.toSorted());
  expect(mayConfirm(mode)).toBe(ways.includes('confirmed'));
});

test.each([
  ['approval', true, 'signIn', 'somebody other than the user'],
  ['ask', true, 'signIn', 'a person who signs in'],
  ['human', true, 'local', 'the person at this machine'],
  ['human', false, 'none', 'the user'],
  ['plan', false, 'signIn', 'the user'],
] as const)('%s, on the page (%s, %s): a plan waits for %s', (mode, onPage, page, whom) => {
  const options = { byForm: false, byClick: false, byConfirmation: false, onPage };
  expect(whoDecides(mode, options, page).text).toContain(whom);
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
    const caller = { caller: 'alice', personId: 'person-alice' };
    const reason = reasonAgainstDeciding(mode, caller, { person, personId: `person-${person}`, mayApprove });
    if (why === undefined) expect(reason).toBeUndefined();
    else expect(reason?.text).toContain(why);
  });

  test.each<readonly [string, string | undefined, string | undefined, string | undefined, string | undefined]>([
    ['one person with two names is one', 'alice', 'p-1', 'p-1', 'Your own'],
    ['two people with one name are two', 'bob', 'p-1', 'p-2', undefined],
    ['the token of the change without the claim', 'alice', undefined, 'p-2', 'lacks the claim'],
    ['the token of the person without the claim', 'alice', 'p-1', undefined, 'lacks the claim'],
    ['a change of a caller without a name', undefined, undefined, 'p-2', undefined],
  ])('approval: %s', (_what, caller, personId, ofPerson, why) => {
    const person = { person: 'bob', personId: ofPerson, mayApprove: true };
    const reason = reasonAgainstDeciding('approval', { caller, personId }, person);
    if (why === undefined) expect(reason).toBeUndefined();
    else expect(reason?.text).toContain(why);
  });
});
