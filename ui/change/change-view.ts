import { longestReason } from '../../src/consent/decline-reason.js';
import { decideTool } from '../../src/mcp/views/contract/apps.js';
import type { Decision, ProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { methodNotFound, RequestFailed } from '../../src/mcp/views/contract/json-rpc.js';
import { humanDuration } from '../../src/util/human.js';
import type { Host, ToolResult } from '../host/host.js';
import { type FormatTime, timeFormat } from '../shared/appearance.js';
import { element, setText, shownText } from '../shared/elements.js';
import { startView } from '../shared/start-view.js';
import {
  answered,
  begin,
  click,
  expire,
  expiredPlan,
  looked,
  mayBeDecided,
  notPassedOn,
  planAgain,
  plannedAgain,
  type Stage,
  unanswered,
} from './decision.js';
import { outcomePanel, panel } from './outcome.js';
import { planBody, planHead, riskList, sandboxBanner, whereLine } from './plan.js';

/** After this time without an answer, the view says so and keeps waiting (milliseconds). */
const lateMs = 75_000;

/** Time limit for the host's answer to a decision (milliseconds). */
const answerMs = 15 * 60_000;

/** Time limit for calls that change nothing (milliseconds). */
const shortAnswerMs = 75_000;

const clockMs = 5_000;

/** Shows a plan and takes the decision, or shows the outcome of a change. */
export async function startChangeView(): Promise<void> {
  const main = element('main', { class: 'change' });
  const outcome = element('div', { role: 'status' });
  const plan = element('div');
  const expiry = element('p', { class: 'quiet' });
  const accept = element('button', { type: 'button' });
  const decline = element('button', { type: 'button' });
  const buttons = element('div', { class: 'buttons', hidden: '' }, accept, decline);
  const name = element('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const nameLabel = element('span');
  const nameField = element('label', { class: 'reason', hidden: '' }, nameLabel, name);
  const reason = element('input', { type: 'text', maxlength: String(longestReason), autocomplete: 'off' });
  const reasonField = element('label', { class: 'reason', hidden: '' }, 'Reason, if you decline (optional) ', reason);
  const progress = element('div', { role: 'status' }, 'Waiting for the plan …');
  main.append(outcome, plan, expiry, progress, nameField, reasonField, buttons);
  document.body.append(main);

  let host: Host | undefined;
  let formatTime: FormatTime = timeFormat({ locale: undefined, timeZone: undefined });
  let stage: Stage = { kind: 'waiting' };
  let shownPlan: { readonly change: ProposedChange | undefined; readonly isFolded: boolean } | undefined;

  const go = (next: Stage) => {
    if (next === stage) return;
    stage = next;
    show();
  };

  const show = () => {
    const hadFocus = main.contains(document.activeElement);
    const result = outcomeOf(stage, formatTime);
    outcome.replaceChildren(...(result.length === 0 ? [] : withPlace(result, stage)));
    showPlan(result.length > 0);
    showExpiry();
    progress.replaceChildren(...progressOf(stage, host));
    const { isOffered, accepts, declines, isBusy, isFinal } = buttonsAt(stage, host);
    buttons.hidden = !isOffered;
    setText(accept, accepts);
    accept.className = isFinal ? 'accept final' : 'accept';
    setText(decline, declines);
    decline.hidden = declines === '';
    showFields(isOffered && declines !== '');
    for (const button of [accept, decline]) button.ariaDisabled = isBusy ? 'true' : null;
    const isLost = buttons.hidden || !main.contains(document.activeElement);
    if (hadFocus && isLost) outcome.querySelector<HTMLElement>('h1')?.focus();
  };

  /** Shows what a person may type: a reason for declining, and the name of what is deleted. */
  const showFields = (isOpen: boolean) => {
    const wanted = 'change' in stage ? stage.change?.typedName : undefined;
    reasonField.hidden = !isOpen;
    nameField.hidden = !isOpen || wanted === undefined;
    setText(nameLabel, `Type ${wanted ?? ''} to agree`);
  };

  /** Shows the plan, collapsed if an outcome stands above it. */
  const showPlan = (isFolded: boolean) => {
    const change = 'change' in stage ? stage.change : undefined;
    if (shownPlan !== undefined && change === shownPlan.change && isFolded === shownPlan.isFolded) return;
    shownPlan = { change, isFolded };
    plan.className = change?.isSandbox === true ? 'plan of-sandbox' : 'plan';
    if (change === undefined) plan.replaceChildren();
    else if (!isFolded) plan.replaceChildren(...planHead(change), ...planBody(change, formatTime));
    else plan.replaceChildren(foldedPlan(change, formatTime));
  };

  const showExpiry = () => {
    const open = stage.kind === 'open' && stage.change.ticket !== undefined ? stage.change : undefined;
    expiry.hidden = open === undefined;
    if (open === undefined) return;
    const end = Date.parse(open.expiresAt);
    const left = humanDuration(Math.max(0, (end - Date.now()) / 1000));
    setText(expiry, `Valid until ${formatTime(end)}, for another ${left}.`);
  };

  const call = (ticket: string, decision: Decision['decision'], timeoutMs: number) =>
    host?.callTool(decideTool, { ticket, decision, ...typedFor(decision) }, timeoutMs) ??
    Promise.reject(new Error('no host answered'));

  const typedFor = (decision: Decision['decision']) => {
    if (decision === 'accept') return nameField.hidden ? {} : { name: name.value };
    const text = reason.value.trim();
    return decision === 'decline' && text !== '' ? { reason: text } : {};
  };

  const decide = async (decision: 'accept' | 'decline') => {
    go(click(stage, decision));
    if (stage.kind !== 'sending' || stage.change.ticket === undefined) return;
    const late = setTimeout(() => go(unanswered(stage)), lateMs);
    try {
      const result = await call(stage.change.ticket, decision, answerMs);
      const next = answered(stage, result);
      go(next);
      if (next.kind === 'ended') host?.updateModelContext(result.text);
    } catch (error) {
      const unknown = error instanceof RequestFailed && error.code === methodNotFound;
      go(unknown ? notPassedOn(stage) : unanswered(stage));
    } finally {
      clearTimeout(late);
    }
  };

  const makeNewPlan = async () => {
    go(planAgain(stage));
    if (stage.kind !== 'planning' || stage.change.ticket === undefined) return;
    const result = await call(stage.change.ticket, 'again', shortAnswerMs).catch(() => undefined);
    go(plannedAgain(stage, result, Date.now()));
  };

  /** Asks the server for the state of the plan, because after a reload hosts show the plan as it was before the decision. */
  const look = async () => {
    if (!mayBeDecided(stage, Date.now()) || host?.callsTools !== true) return;
    const ticket = 'change' in stage ? stage.change?.ticket : undefined;
    if (ticket === undefined) return;
    const result = await call(ticket, 'look', shortAnswerMs).catch(() => undefined);
    if (result !== undefined) go(looked(stage, result));
  };

  const act = () => (expiredPlan(stage) === undefined ? decide('accept') : makeNewPlan());
  accept.addEventListener('click', () => void ignoringRepeats(accept, act));
  decline.addEventListener('click', () => void ignoringRepeats(decline, () => decide('decline')));
  const clock = setInterval(() => {
    go(expire(stage, Date.now()));
    showExpiry();
  }, clockMs);

  host = await startView('cloudops-change', main, {
    // Ignores a repeated result, so that a running or finished decision does not start again.
    onResult(result: ToolResult) {
      if (stage.kind !== 'waiting' && stage.kind !== 'plain') return;
      go(begin(result, Date.now()));
      void look();
    },
    onCancelled: () => go({ kind: 'plain', text: 'The call was cancelled.' }),
    onTeardown: () => clearInterval(clock),
  });
  if (host !== undefined) formatTime = timeFormat(host.context);
}

/** The buttons at a stage of the decision. */
function buttonsAt(stage: Stage, host: Host | undefined) {
  const decidable =
    stage.kind === 'open' || stage.kind === 'sending' || stage.kind === 'lost' ? stage.change : undefined;
  const change = decidable ?? (stage.kind === 'planning' ? stage.change : expiredPlan(stage));
  const asksAgain = stage.kind === 'lost' || (stage.kind === 'sending' && stage.lost);
  return {
    isOffered: change?.ticket !== undefined && host?.callsTools === true,
    accepts: decidable === undefined ? 'Plan again' : asksAgain ? 'Ask again' : decidable.accept,
    declines: decidable === undefined || asksAgain ? '' : decidable.decline,
    isBusy: stage.kind === 'sending' || stage.kind === 'planning',
    isFinal: decidable?.risks.includes('no way back') === true && !asksAgain,
  };
}

/** Runs `act` and ignores further clicks meanwhile. Uses aria-disabled because a disabled button loses the focus. */
async function ignoringRepeats(button: HTMLButtonElement, act: () => Promise<void>): Promise<void> {
  if (button.ariaDisabled !== 'true') await act();
}

const foldedPlan = (change: ProposedChange, formatTime: FormatTime) =>
  element(
    'details',
    { class: 'folded' },
    element('summary', { dir: 'auto' }, ...shownText(`The plan: ${change.sentence}`)),
    ...riskList(change),
    ...planBody(change, formatTime),
  );

const paragraph = (text: string, className = '') => element('p', { class: className, dir: 'auto' }, ...shownText(text));

/** Puts the place of the change around its outcome, because the plan is collapsed by then, or unknown. */
function withPlace(outcome: readonly Node[], stage: Stage): readonly Node[] {
  const change = 'change' in stage ? stage.change : undefined;
  const { isSandbox = false, where = [] } = change ?? (stage.kind === 'ended' ? stage.outcome : {});
  return [...sandboxBanner(isSandbox), ...outcome, ...whereLine(where)];
}

/** The outcome at a stage, if there is one. */
function outcomeOf(stage: Stage, formatTime: FormatTime): readonly Node[] {
  if (stage.kind === 'ended') return [outcomePanel(stage.outcome, formatTime)];
  if (stage.kind === 'expired' || stage.kind === 'planning')
    return [
      panel(
        'expired',
        'nothing',
        'This plan has expired',
        paragraph(
          'It can no longer be decided on. If nobody decided before, nothing was sent: plan again if you still want it.',
        ),
        ...('note' in stage && stage.note !== undefined ? [paragraph(stage.note, 'problem')] : []),
      ),
    ];
  if (stage.kind === 'lost')
    return [
      panel(
        'unknown',
        'unknown',
        'No answer came',
        paragraph(
          'The change may have happened. Asking again is safe: what you agreed to can happen only once.',
          'sentence',
        ),
      ),
    ];
  return [];
}

/** The progress at a stage, and the next step if there is no button. */
function progressOf(stage: Stage, host: Host | undefined): readonly Node[] {
  if (stage.kind === 'waiting') return [paragraph('Waiting for the plan …')];
  if (stage.kind === 'plain') return [paragraph(stage.text)];
  if (stage.kind === 'sending') return [paragraph(stage.decision === 'accept' ? 'Sending …' : 'Closing …')];
  if (stage.kind === 'planning') return [paragraph('Planning again …')];
  if (stage.kind !== 'open') return [];
  const { change, note } = stage;
  const notes = note === undefined ? [] : [paragraph(note, 'problem')];
  if (change.ticket !== undefined && host?.callsTools === true) return notes;
  const ways = change.otherWays.map((way) => element('li', { dir: 'auto' }, way));
  if (change.ticket === undefined && note === undefined)
    return [paragraph('The decision is made in the chat.'), ...notes];
  return [
    ...notes,
    element(
      'section',
      { class: 'elsewhere' },
      element('h2', {}, 'This chat does not pass clicks on'),
      paragraph(ways.length === 0 ? 'It cannot be decided here.' : 'It cannot be decided here. To decide:'),
      ...(ways.length === 0 ? [] : [element('ul', {}, ...ways)]),
    ),
  ];
}
