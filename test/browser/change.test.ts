import type { CallToolResult } from '@modelcontextprotocol/client';
import { afterAll, describe, expect, test } from 'vitest';
import { type ChangeOutcome, changeKey, type ProposedChange } from '../../src/mcp/views/view-contract.js';
import { findings, movingElements, type ShownView, type ShowOptions, startBrowser } from './browser.js';
import { accepted, plannedChange as change, outcomeResult, planResult, ticket } from './changes.js';
import { keepPicture } from './gallery.js';

const browser = await startBrowser();
afterAll(browser.close);

/** An answer that the test gives when it wants to. */
function heldAnswer() {
  const calls: unknown[] = [];
  let give: (result: CallToolResult) => void = () => undefined;
  const answer: NonNullable<ShowOptions['answer']> = (name, given) => {
    calls.push([name, given]);
    return new Promise((resolve) => {
      give = resolve;
    });
  };
  return { calls, answer, give: (result: CallToolResult) => give(result) };
}

/** A click that has got no answer after 80 seconds. */
async function lateClick(name: string, progress: string) {
  const { answer, give } = heldAnswer();
  const shown = await browser.show('change', { answer });
  await shown.page.clock.install();
  await shown.sendCall({}, planResult());
  await button(shown, name).click();
  await shown.view.getByText(progress).waitFor();
  await shown.page.clock.fastForward(80_000);
  return { shown, give };
}

async function shownPlan(options: ShowOptions = {}, given: Partial<ProposedChange> = {}): Promise<ShownView> {
  const shown = await browser.show('change', options);
  await shown.sendCall({ instanceId: 'wiki' }, planResult(given));
  await shown.view.getByRole('heading', { level: 1 }).waitFor();
  return shown;
}

const button = ({ view }: ShownView, name: string) => view.getByRole('button', { name, exact: true });
const status = async ({ view }: ShownView) => (await view.getByRole('status').allInnerTexts()).join('\n');

const inTokyo = { locale: 'en-GB', timeZone: 'Asia/Tokyo' };

test('a plan shows the decision, its cost, warnings and defaults, and folds the request away', async () => {
  const shown = await shownPlan({ context: inTokyo });
  const { view } = shown;
  expect(await view.getByRole('heading', { level: 1 }).innerText()).toBe(change.sentence);
  expect(await view.getByRole('list', { name: 'Risks' }).getByRole('listitem').allInnerTexts()).toEqual([
    'Costs money',
  ]);
  expect(await view.locator('section li').allInnerTexts()).toEqual([
    ...change.effects,
    'This is a repeat: the same call was accepted before. It was sent at 20 Nov 2026, 20:30:00 GMT+9.',
    'That the backup exists',
    'That the name is free',
  ]);
  expect(await view.locator('dt, dd').allInnerTexts()).toEqual(['Server type', 'e-large', 'Zone', 'east-11']);
  // A name is an element of its own: its direction cannot reach the words around it.
  expect(await view.locator('h1 bdi').allInnerTexts()).toEqual(['"wiki"', '"demobackup00000000000000000001"']);
  expect(await view.getByText('POST https://').isVisible()).toBe(false);
  await view.getByText('The exact request').click();
  expect(await view.locator('pre').innerText()).toBe(change.request);
  expect(await view.getByRole('button').allInnerTexts()).toEqual(['Create server wiki', 'Do nothing']);
  expect(await view.getByText(/^Valid until 1 Jan 2999, 09:00:00 GMT\+9/).isVisible()).toBe(true);
  expect(shown.reported).toEqual([]);
});

test('how long ago something was stays true while the plan is open, and what the person has opened stays open', async () => {
  const shown = await browser.show('change');
  await shown.page.clock.install({ time: new Date('2026-11-20T12:00:00Z') });
  const effects = [
    'Still receiving: last part 2026-11-20T11:39:00.000Z.',
    'The name "2026-11-20T11:39:00.000Z" stays.',
  ];
  await shown.sendCall({}, planResult({ effects, issuedAt: '2026-11-20T12:00:00Z' }));
  await shown.view.getByText('The exact request').click();
  await shown.view.getByText('The name "2026-11-20T11:39:00.000Z" stays.').waitFor();
  await shown.view.getByText(/^Still receiving: last part .* \(21 min ago\)\.$/).waitFor();
  await shown.page.clock.runFor(62_000);
  await shown.view.getByText(/^Still receiving: last part .* \(22 min ago\)\.$/).waitFor();
  expect(await shown.view.getByText('POST https://').isVisible()).toBe(true);
});

test('a plan that is decided elsewhere shows its outcome in the chat, which is asked less and less often, and no more after the end', async () => {
  const times: number[] = [];
  let outcome: ChangeOutcome | undefined;
  const shown = await browser.show('change', {
    answer: async (_name, given) => {
      expect(given.decision).toBe('look');
      times.push(await shown.page.evaluate(() => Date.now()));
      return outcome === undefined ? { content: [] } : outcomeResult({ ...outcome, isOfPlan: true });
    },
  });
  const begunAt = Date.parse('2026-11-20T12:00:00Z');
  await shown.page.clock.install({ time: begunAt });
  await shown.sendCall({}, planResult({ issuedAt: '2026-11-20T12:00:00Z' }));
  await shown.page.clock.runFor(14_000);
  expect(times).toEqual([]);
  await shown.page.clock.runFor(2_000);
  await expect.poll(() => times.length).toBe(1);
  outcome = { ...accepted, kind: 'used', sentence: 'The outcome of this change is not known yet.' };
  await shown.page.clock.runFor(31_000);
  await shown.view.getByRole('heading', { name: 'Decided before' }).waitFor();
  expect(await shown.view.getByRole('button').count()).toBe(0);
  outcome = accepted;
  await shown.page.clock.runFor(61_000);
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  await shown.page.clock.runFor(600_000);
  expect(times).toHaveLength(3);
});

test('an outcome of many things shows each with its size, its age and its ending', async () => {
  const things = {
    title: 'Uploads',
    columns: ['Ending', 'Object', 'Size', 'Started'],
    rows: [
      ['Failed ("AccessDenied")', '"a.mov"', '1.5 MiB', new Date(Date.now() - 3 * 3_600_000).toISOString()],
      ['Aborted', '"b.mov"', '', ''],
    ],
    more: 2,
  };
  const shown = await browser.show('change', { answer: () => outcomeResult({ ...accepted, things }), width: 360 });
  await shown.sendCall({}, planResult());
  await button(shown, 'Create server wiki').click();
  await shown.view.getByText('And 2 more.').waitFor();
  const rows = await shown.view.getByRole('row').allInnerTexts();
  expect(rows.slice(1)).toEqual([
    expect.stringMatching(/^Failed \("AccessDenied"\)\t"a\.mov"\t1\.5 MiB\t.* \(3 h ago\)$/),
    expect.stringMatching(/^Aborted\t"b\.mov"/),
  ]);
  expect(await findings(shown.view)).toEqual([]);
  await keepPicture('outcome-of-many', await shown.page.screenshot());
});

test('a host that refuses to ask for the state is not asked again', async () => {
  let looks = 0;
  const shown = await browser.show('change', {
    answer: () => {
      looks += 1;
      throw new Error('no');
    },
  });
  await shown.page.clock.install({ time: new Date('2026-11-20T12:00:00Z') });
  await shown.sendCall({}, planResult({ issuedAt: '2026-11-20T12:00:00Z' }));
  await shown.page.clock.runFor(16_000);
  await expect.poll(() => looks).toBe(1);
  await shown.page.clock.runFor(600_000);
  expect(looks).toBe(1);
  expect(await button(shown, 'Create server wiki').isVisible()).toBe(true);
});

test('a click sends the ticket and the decision, once, and shows the outcome', async () => {
  const { calls, answer, give } = heldAnswer();
  const shown = await shownPlan({ answer });
  await button(shown, 'Create server wiki').dblclick();
  await shown.view.getByText('Sending …').waitFor();
  await button(shown, 'Create server wiki').click({ force: true });
  give(outcomeResult(accepted));
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  expect(calls).toEqual([['decide_change', { ticket, decision: 'accept' }]]);
  expect(await status(shown)).toContain('8f14e45f-ceea');
  expect(await shown.view.getByRole('button').count()).toBe(0);
  await expect.poll(() => shown.told).toEqual([`As text: ${accepted.sentence}`]);
  expect(JSON.stringify(shown.told)).not.toContain(ticket);
});

test('the keyboard decides too, and the focus goes on to the outcome', async () => {
  const shown = await shownPlan({
    answer: () => outcomeResult({ ...accepted, kind: 'declined', sentence: 'Nothing was sent.' }),
  });
  await shown.view.getByText('The exact request').focus();
  for (const key of ['Tab', 'Tab', 'Enter']) await shown.page.keyboard.press(key);
  await shown.view.getByRole('heading', { name: 'Nothing was done' }).waitFor();
  expect(await shown.view.evaluate(() => document.activeElement?.textContent)).toBe('Nothing was done');
});

describe('a change that may have happened is never shown as one that did not', () => {
  const lost = () => {
    throw new Error('the connection was lost');
  };

  test('the host drops the connection after the click', async () => {
    const shown = await shownPlan({ answer: lost });
    await button(shown, 'Create server wiki').click();
    await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
    expect(await status(shown)).toContain('may have happened');
    expect(await shown.view.getByRole('button').allInnerTexts()).toEqual(['Ask again']);
  });

  test('a look that brings nothing leaves a plan open', async () => {
    const shown = await shownPlan({ answer: lost }, { issuedAt: '2020-01-01T00:00:00.000Z' });
    await button(shown, 'Create server wiki').waitFor();
    expect(await shown.view.getByText('No answer came').count()).toBe(0);
  });

  test('asking again shows what came of the first click', async () => {
    let calls = 0;
    const shown = await shownPlan({
      answer() {
        calls += 1;
        if (calls === 1) return lost();
        return outcomeResult({
          ...accepted,
          kind: 'used',
          sentence: 'This plan was accepted before.',
          details: ['Accepted at 12:00.'],
        });
      },
    });
    await button(shown, 'Create server wiki').click();
    await button(shown, 'Ask again').click();
    await shown.view.getByRole('heading', { name: 'Decided before' }).waitFor();
    expect(await status(shown)).toContain('Accepted at 12:00.');
  });

  test('asking again sends the typed name again', async () => {
    const calls: unknown[] = [];
    const answer: ShowOptions['answer'] = (name, given) => {
      calls.push([name, given]);
      return lost();
    };
    const shown = await shownPlan({ answer }, { typePrompt: 'To go ahead, type "wiki"' });
    await shown.view.getByLabel('To go ahead, type "wiki"').fill('wiki');
    await button(shown, 'Create server wiki').click();
    await button(shown, 'Ask again').click();
    const click = ['decide_change', { ticket, decision: 'accept', name: 'wiki' }];
    await expect.poll(() => calls).toEqual([click, click]);
  });

  test.each(['expired', 'refused'] as const)('asking again is %s: the first click stays unknown', async (kind) => {
    let calls = 0;
    const shown = await shownPlan({
      answer() {
        calls += 1;
        return calls === 1
          ? lost()
          : outcomeResult({ kind, sentence: 'Nothing was sent.', details: [], requestIds: {} });
      },
    });
    await button(shown, 'Create server wiki').click();
    await button(shown, 'Ask again').click();
    await shown.view.getByRole('heading', { name: 'The outcome is not known' }).waitFor();
  });

  test('an answer without an outcome is no answer', async () => {
    const shown = await shownPlan({ answer: () => ({ content: [{ type: 'text', text: 'Error' }], isError: true }) });
    await button(shown, 'Create server wiki').click();
    await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
  });

  test('no answer for long is said, and an answer that comes late is taken', async () => {
    const { shown, give } = await lateClick('Create server wiki', 'Sending …');
    await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
    give(outcomeResult(accepted));
    await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  });

  test('a refusal that is answered late leaves the plan open until then', async () => {
    const { shown, give } = await lateClick('Do nothing', 'Closing …');
    await shown.view.getByText('Nothing is done without a click').waitFor();
    give(outcomeResult({ ...accepted, kind: 'declined' }));
    await shown.view.getByRole('heading', { name: 'Nothing was done' }).waitFor();
  });

  test('a refusal that gets no answer leaves the plan open', async () => {
    const shown = await shownPlan({ answer: lost });
    await button(shown, 'Do nothing').click();
    await shown.view.getByText('Nothing is done without a click').waitFor();
    expect(await button(shown, 'Create server wiki').isEnabled()).toBe(true);
  });
});

test.each([
  ['accepted', 'Accepted'],
  ['rejected', 'Refused by the cloud'],
  ['unknown', 'The outcome is not known'],
  ['declined', 'Nothing was done'],
  ['expired', 'The plan has expired'],
  ['used', 'Decided before'],
  ['refused', 'Not sent'],
  ['withdrawn', 'The plan was withdrawn'],
  ['late', 'Too late'],
] as const)('the outcome %s is called "%s"', async (kind, title) => {
  const shown = await shownPlan({ answer: () => outcomeResult({ ...accepted, kind }) });
  await button(shown, 'Create server wiki').click();
  await shown.view.getByRole('heading', { name: title, exact: true }).waitFor();
});

test('a plan whose time is over can no longer be decided', async () => {
  const shown = await shownPlan({}, { expiresAt: '2020-01-01T00:00:00.000Z' });
  expect(await status(shown)).toContain('This plan has expired');
  expect(await shown.view.getByRole('button').count()).toBe(0);
});

test('a plan expires while it is shown', async () => {
  const shown = await browser.show('change');
  await shown.page.clock.install({ time: '2026-11-20T12:00:00Z' });
  await shown.sendCall({}, planResult({ expiresAt: '2026-11-20T12:10:00.000Z' }));
  await button(shown, 'Create server wiki').waitFor();
  await shown.view.getByRole('textbox', { name: /^Reason/ }).pressSequentially('Not now');
  await shown.page.clock.fastForward(11 * 60_000);
  await shown.view.getByRole('heading', { name: 'This plan has expired' }).waitFor();
  // The field with the reason keeps its text and the focus, so that the text can be copied.
  const kept = shown.view.getByLabel('Your reason, which was not sent');
  expect(await kept.inputValue()).toBe('Not now');
  expect(await kept.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await shown.view.getByRole('button').count()).toBe(0);
});

test('a plan that was decided on before it is shown has its outcome on top, and no buttons', async () => {
  const answer = () => outcomeResult({ ...accepted, sentAt: '2026-11-20T12:00:00.000Z' });
  const shown = await shownPlan({ answer, context: inTokyo }, { issuedAt: '2020-01-01T00:00:00.000Z' });
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  expect(await shown.view.getByRole('button').count()).toBe(0);
  expect(await status(shown)).not.toContain('click');
  expect(await status(shown)).toContain('Sent 20 Nov 2026, 21:00:00 GMT+9.');
});

test('an outcome is above the plan, which is folded and can be opened', async () => {
  const shown = await shownPlan({ answer: () => outcomeResult(accepted) });
  await button(shown, 'Create server wiki').click();
  const heading = shown.view.getByRole('heading', { level: 1, name: 'Accepted' });
  await heading.waitFor();
  const plan = shown.view.getByText(`The plan: ${change.sentence}`);
  expect(await shown.view.getByText('What will happen').isVisible()).toBe(false);
  const tops = await Promise.all([heading, plan].map(async (one) => (await one.boundingBox())?.y ?? Number.NaN));
  expect(tops[0]).toBeLessThan(tops[1] ?? Number.NaN);
  await plan.click();
  expect(await shown.view.getByText('What will happen').isVisible()).toBe(true);
});

test('an outcome keeps the sandbox banner and the place, with and without its plan', async () => {
  const place = { isSandbox: true, where: ['the built-in sandbox', 'region jp-east-1 (given)', 'account "prod"'] };
  const keepsPlace = async ({ view }: ShownView) => {
    await view.getByRole('heading', { name: 'Accepted' }).waitFor();
    expect(await view.getByText('Sandbox: nothing real happens').isVisible()).toBe(true);
    expect(await view.getByText('The built-in sandbox · region jp-east-1 (given) · account "prod"').isVisible()).toBe(
      true,
    );
  };
  const decided = await shownPlan({ answer: () => outcomeResult(accepted) }, place);
  await button(decided, 'Create server wiki').click();
  await keepsPlace(decided);
  const alone = await browser.show('change');
  await alone.sendCall({}, outcomeResult({ ...accepted, ...place }));
  await keepsPlace(alone);
});

test('what cannot be undone is marked, and its button does not look like that of anything else', async () => {
  const colours = async (given: Partial<ProposedChange>) => {
    const shown = await shownPlan({}, given);
    const risks = await shown.view.getByRole('list', { name: 'Risks' }).getByRole('listitem').allInnerTexts();
    const background = await button(shown, 'Create server wiki').evaluate(
      (element) => getComputedStyle(element).backgroundColor,
    );
    return { risks, background };
  };
  const usual = await colours({});
  const final = await colours({ risks: ['costs money', 'no way back'] });
  expect(final.risks).toEqual(['Costs money', 'No way back']);
  expect(final.background).not.toBe(usual.background);
});

test('a plan of the sandbox says that nothing real happens', async () => {
  expect(await (await shownPlan()).view.getByText('Sandbox: nothing real happens').count()).toBe(0);
  const shown = await shownPlan({}, { isSandbox: true });
  expect(await shown.view.getByText('Sandbox: nothing real happens').isVisible()).toBe(true);
});

test('where the host passes no clicks on, there are no buttons, and the view says how else to decide', async () => {
  const shown = await shownPlan({ callsTools: false });
  expect(await shown.view.getByRole('button').count()).toBe(0);
  await shown.view.getByText('This chat does not pass clicks on').waitFor();
  expect(await shown.view.locator('.elsewhere li').allInnerTexts()).toEqual(change.otherWays);
});

test('a click that the host refuses has sent nothing, and the view says how else to decide', async () => {
  const shown = await shownPlan({ refusesCalls: true });
  await button(shown, 'Create server wiki').click();
  await shown.view.getByText('This chat did not pass your click on. Nothing was sent.').waitFor();
  expect(await shown.view.getByRole('button').count()).toBe(0);
  expect(await shown.view.locator('.elsewhere li').allInnerTexts()).toEqual(change.otherWays);
});

test('a plan without a ticket is decided in the chat', async () => {
  const shown = await browser.show('change');
  const { ticket: _, ...decidedElsewhere } = change;
  await shown.sendCall({}, { content: [], _meta: { [changeKey]: decidedElsewhere } });
  await shown.view.getByText('The decision is made in the chat.').waitFor();
  expect(await shown.view.getByRole('button').count()).toBe(0);
});

test('a call that has an outcome shows it at once', async () => {
  const shown = await browser.show('change');
  await shown.sendCall({}, outcomeResult(accepted));
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
});

test('names are text, whatever they hold', async () => {
  const hostile = '<img src=x onerror="document.title=\'owned\'"></h1><script>document.title="owned"</script>';
  const list = [hostile];
  const answer = () =>
    outcomeResult({
      kind: 'rejected',
      sentence: hostile,
      details: list,
      requestIds: { [hostile]: hostile },
      next: hostile,
    });
  const shown = await shownPlan(
    { answer },
    {
      sentence: hostile,
      effects: list,
      warnings: list,
      notChecked: list,
      where: list,
      otherWays: list,
      defaults: [{ name: hostile, value: hostile }],
      accept: hostile,
      decline: hostile,
      request: hostile,
    },
  );
  expect(await shown.view.getByRole('heading', { level: 1 }).textContent()).toBe(hostile);
  const shownTexts = shown.view.locator('section li, .where, .plan dt, .plan dd');
  expect(await shownTexts.allTextContents()).toEqual(Array(6).fill(hostile));
  await shown.view.getByRole('button').first().click();
  await shown.view.getByRole('heading', { name: 'Refused by the cloud' }).waitFor();
  expect(await shown.view.locator('.references dt, .references dd').allTextContents()).toEqual([hostile, hostile]);
  expect(await shown.view.locator('main img, main script').count()).toBe(0);
  expect(await shown.view.title()).toBe('Change');
  expect(shown.reported).toEqual([]);
});

test('nothing in it moves by itself, whatever motion the person allows', async () => {
  const shown = await shownPlan({ reducedMotion: 'no-preference' });
  expect(await movingElements(shown.view)).toEqual([]);
});
