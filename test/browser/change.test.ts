import type { CallToolResult } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeKey, type ProposedChange } from '../../src/mcp/views/contract/change.js';
import { type Browser, findings, movingElements, type ShownView, type ShowOptions, startBrowser } from './browser.js';
import { accepted, plannedChange as change, outcomeResult, planResult, ticket } from './changes.js';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** An answer that the test gives when it wants to. */
function heldAnswer() {
  const calls: unknown[] = [];
  let give: (result: CallToolResult) => void = () => undefined;
  const answer: ShowOptions['answer'] = (name, given) => {
    calls.push([name, given]);
    return new Promise((resolve) => {
      give = resolve;
    });
  };
  return { calls, answer, give: (result: CallToolResult) => give(result) };
}

async function shownPlan(options: ShowOptions = {}, given: Partial<ProposedChange> = {}): Promise<ShownView> {
  const shown = await browser.show('change', options);
  await shown.sendCall({ instanceId: 'wiki' }, planResult(given));
  await shown.view.getByRole('heading', { level: 1 }).waitFor();
  return shown;
}

const button = ({ view }: ShownView, name: string) => view.getByRole('button', { name, exact: true });
const status = ({ view }: ShownView) => view.getByRole('status').innerText();

test('a plan shows the decision, its cost, warnings and defaults, and folds the request away', async () => {
  const shown = await shownPlan();
  const { view } = shown;
  expect(await view.getByRole('heading', { level: 1 }).innerText()).toBe(change.sentence);
  expect(await view.getByRole('listitem').allInnerTexts()).toEqual([
    ...change.effects,
    ...change.warnings,
    ...change.defaults,
  ]);
  expect(await view.getByText('POST https://').isVisible()).toBe(false);
  await view.getByText('The exact request').click();
  expect(await view.locator('pre').innerText()).toBe(change.request);
  expect(await view.getByRole('button').allInnerTexts()).toEqual(['Create server wiki', 'Do nothing']);
  expect(await view.getByText(/^Valid until/).isVisible()).toBe(true);
  expect(shown.reported).toEqual([]);
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
    const { answer, give } = heldAnswer();
    const shown = await browser.show('change', { answer });
    await shown.page.clock.install();
    await shown.sendCall({}, planResult());
    await button(shown, 'Create server wiki').click();
    await shown.view.getByText('Sending …').waitFor();
    await shown.page.clock.fastForward(80_000);
    await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
    give(outcomeResult(accepted));
    await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
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
  await shown.page.clock.fastForward(11 * 60_000);
  await shown.view.getByRole('heading', { name: 'This plan has expired' }).waitFor();
  expect(await shown.view.getByRole('button').count()).toBe(0);
});

test('where the host passes no clicks on, there are no buttons, and the view says so', async () => {
  const shown = await shownPlan({ callsTools: false });
  expect(await shown.view.getByRole('button').count()).toBe(0);
  expect(await status(shown)).toContain('cannot be decided here');
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
      defaults: list,
      accept: hostile,
      decline: hostile,
      request: hostile,
    },
  );
  expect(await shown.view.getByRole('heading', { level: 1 }).textContent()).toBe(hostile);
  expect(await shown.view.getByRole('listitem').allTextContents()).toEqual([hostile, hostile, hostile]);
  await shown.view.getByRole('button').first().click();
  await shown.view.getByRole('heading', { name: 'Refused by the cloud' }).waitFor();
  expect(await shown.view.locator('dt, dd').allTextContents()).toEqual([hostile, hostile]);
  expect(await shown.view.locator('main img, main script').count()).toBe(0);
  expect(await shown.view.title()).toBe('Change');
  expect(shown.reported).toEqual([]);
});

test.each(['light', 'dark'] as const)('axe-core finds nothing in the %s theme', async (theme) => {
  let calls = 0;
  const answer = () => {
    calls += 1;
    if (calls === 1) throw new Error('the connection was lost');
    return outcomeResult(accepted);
  };
  const shown = await shownPlan({ context: { theme }, colorScheme: theme, answer });
  await shown.view.getByText('The exact request').click();
  expect(await findings(shown.view)).toEqual([]);
  await button(shown, 'Create server wiki').click();
  await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
  expect(await findings(shown.view)).toEqual([]);
  await button(shown, 'Ask again').click();
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  expect(await findings(shown.view)).toEqual([]);
});

test('nothing in it moves by itself, whatever motion the person allows', async () => {
  const shown = await shownPlan({ reducedMotion: 'no-preference' });
  expect(await movingElements(shown.view)).toEqual([]);
});
