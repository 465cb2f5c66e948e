import { expect, test } from 'vitest';
import { type ConsentRequest, type ConsentStep, consentModes, decideConsent } from '../../src/consent/decision.js';

/** Which of several kinds of consent a call needs: for every input there is, one row. */

const plan = (withPlanId: boolean, withTicket: boolean): ConsentStep => ({ kind: 'plan', withPlanId, withTicket });
const ask: ConsentStep = { kind: 'ask' };
const redeem: ConsentStep = { kind: 'redeem' };
const byOption: ConsentStep = { kind: 'given', how: 'option' };
const withoutAny: ConsentStep = { kind: 'given', how: 'off' };
const refuse: ConsentStep = { kind: 'refuse', problem: expect.any(String) };

/**
 * A dot stands for either. `client` is what the client can do: ask its user, show views. `call` is what the call brings:
 * planOnly, planId, a yes beforehand.
 */
const rows: readonly (readonly [mode: string, client: string, call: string, ConsentStep])[] = [
  // Only the plan is wanted: it is always given, with what would carry it out.
  ['ask  ', 'ask  ....', 'planOnly ...... ...', plan(false, false)],
  ['ask  ', '---  view', 'planOnly ...... ...', plan(true, true)],
  ['ask  ', '---  ----', 'planOnly ...... ...', plan(true, false)],
  ['human', 'ask  ....', 'planOnly ...... ...', plan(false, false)],
  ['human', '---  view', 'planOnly ...... ...', plan(false, true)],
  ['human', '---  ----', 'planOnly ...... ...', plan(false, false)],
  ['plan ', '...  ....', 'planOnly ...... ...', plan(true, false)],
  ['off  ', '...  ....', 'planOnly ...... ...', plan(false, false)],
  // Nobody is asked.
  ['off  ', '...  ....', '-------- ...... ...', withoutAny],
  // A yes beforehand counts, but not where a person has to decide.
  ['ask  ', '...  ....', '-------- ...... yes', byOption],
  ['plan ', '...  ....', '-------- ...... yes', byOption],
  ['human', '...  ....', '-------- ...... yes', refuse],
  // Whoever can be asked is asked, whatever planId the call brings.
  ['ask  ', 'ask  ....', '-------- ...... ---', ask],
  ['human', 'ask  ....', '-------- ...... ---', ask],
  // Otherwise two calls, or a click.
  ['ask  ', '---  ....', '-------- planId ---', redeem],
  ['ask  ', '---  view', '-------- ------ ---', plan(true, true)],
  ['ask  ', '---  ----', '-------- ------ ---', plan(true, false)],
  ['plan ', '...  ....', '-------- planId ---', redeem],
  ['plan ', '...  ....', '-------- ------ ---', plan(true, false)],
  // Only a person's answer acts: a planId is none.
  ['human', '---  view', '-------- ...... ---', plan(false, true)],
  ['human', '---  ----', '-------- ...... ---', refuse],
];

const booleans = [true, false];
const requests: ConsentRequest[] = consentModes.flatMap((mode) =>
  booleans.flatMap((planOnly) =>
    booleans.flatMap((hasPlanId) =>
      booleans.flatMap((canAsk) =>
        booleans.flatMap((hasView) =>
          booleans.map((agreed) => ({ mode, planOnly, hasPlanId, canAsk, hasView, agreed })),
        ),
      ),
    ),
  ),
);

const spelled = ({ mode, planOnly, hasPlanId, canAsk, hasView, agreed }: ConsentRequest): string =>
  [
    mode.padEnd(5),
    `${canAsk ? 'ask' : '---'}  ${hasView ? 'view' : '----'}`,
    `${planOnly ? 'planOnly' : '--------'} ${hasPlanId ? 'planId' : '------'} ${agreed ? 'yes' : '---'}`,
  ].join('|');

const isFor = (row: (typeof rows)[number], request: ConsentRequest) =>
  new RegExp(`^${row.slice(0, 3).join('[|]')}$`).test(spelled(request));

test('every input has one row', () => {
  expect(requests).toHaveLength(128);
  for (const request of requests) expect(rows.filter((row) => isFor(row, request)).length, spelled(request)).toBe(1);
});

test.each(rows.map((row) => [row.slice(0, 3).join(' | '), row] as const))('%s', (_row, row) => {
  const [, , , step] = row;
  const covered = requests.filter((request) => isFor(row, request));
  expect(covered).not.toEqual([]);
  for (const request of covered) expect(decideConsent(request), spelled(request)).toEqual(step);
});

test('a refusal names the setting, and the option where that is why', () => {
  const request = { mode: 'human', planOnly: false, hasPlanId: true, canAsk: false, hasView: false } as const;
  expect(decideConsent({ ...request, agreed: false })).toMatchObject({
    problem: expect.stringMatching(/CLOUDOPS_CONFIRM is "human".*cannot ask/),
  });
  expect(decideConsent({ ...request, agreed: true })).toMatchObject({
    problem: expect.stringMatching(/CLOUDOPS_CONFIRM is "human".*--yes/),
  });
});
