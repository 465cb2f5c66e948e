import { longestReason } from '../../src/changes/decline-reason.js';
import type { ProposedChange, ViewDecision } from '../../src/mcp/views/view-contract.js';
import { humanDuration } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, refreshTimes, setText, shownText } from '../shared/elements.js';
import { t } from '../shared/texts.js';
import { changeOf, type Stage } from './decision.js';
import { outcomePanel, panel } from './outcome.js';
import { planBody, planHead, riskList, sandboxBanner, tableSection, whereLine } from './plan.js';

interface ChangePage {
  readonly main: HTMLElement;
  /** Shows a stage of the decision. If the focused element is removed or hidden, the focus moves to the heading of the outcome. */
  show(stage: Stage, host: HostFacts): void;
  /** Updates for how long an open plan is valid, and how long ago all times were. */
  tick(stage: Stage, host: HostFacts): void;
  /** The arguments that the person typed for a decision: a reason for declining, or the name of what is deleted. */
  typedArguments(change: ProposedChange, decision: ViewDecision['decision']): Pick<ViewDecision, 'reason' | 'name'>;
}

export interface HostFacts {
  /** True if the host forwards tool calls. Every click is a tool call, so otherwise the page shows no buttons. */
  readonly callsTools: boolean;
  readonly formatTime: FormatTime;
}

interface ChangePageEvents {
  /** Called for a click on the primary button, which accepts or asks again. */
  onPrimary(): Promise<void>;
  onDecline(): Promise<void>;
}

/** Creates the elements of the change view, from top to bottom, and returns the functions that update them. */
export function createChangePage({ onPrimary, onDecline }: ChangePageEvents): ChangePage {
  const outcome = element('div', { role: 'status' });
  const plan = createPlanPanel();
  const expiry = element('p', { class: 'quiet' });
  const progress = element('div', { role: 'status' }, t('Waiting for the plan …'));
  const inputs = createInputs();
  const buttons = createButtons(onPrimary, onDecline);
  const main = element('main', { class: 'change' });
  main.append(outcome, plan.element, expiry, progress, ...inputs.elements, buttons.element);

  const tick = (stage: Stage, { formatTime }: HostFacts) => {
    refreshTimes(main);
    const text = expiryText(stage, formatTime);
    expiry.hidden = text === undefined;
    if (text !== undefined) setText(expiry, text);
  };

  /** True if the focused element is visible. A hidden element keeps the focus until the browser next draws the page. */
  const isFocusOnShownElement = () => {
    const focused = document.activeElement;
    return main.contains(focused) && focused?.closest('[hidden]') === null;
  };

  return {
    main,
    show(stage, host) {
      const hadFocus = isFocusOnShownElement();

      const change = changeOf(stage);
      const outcomeNodes = outcomeAt(stage, host.formatTime);
      outcome.replaceChildren(...outcomeNodes);
      const isPlanCollapsed = outcomeNodes.length > 0;
      plan.show(change, isPlanCollapsed, host.formatTime);
      tick(stage, host);
      progress.replaceChildren(...progressLines(stage, host));

      const shownButtons = buttonsAt(stage, host);
      buttons.show(shownButtons);
      // Only a plan that the person can decide on has a button to decline.
      const canDecide = shownButtons?.declineLabel !== undefined;
      inputs.show(change, { canDecide, isUnsent: isReasonUnsent(stage) });

      // If the focused button or input has just been hidden, keyboard users continue at the heading of the outcome, if there is one.
      if (hadFocus && !isFocusOnShownElement()) outcome.querySelector<HTMLElement>('h1')?.focus();
    },
    tick,
    typedArguments: inputs.typedArguments,
  };
}

/** True if the plan ended in another way than by a click here, so that a typed reason was not sent. */
function isReasonUnsent(stage: Stage): boolean {
  if (stage.kind !== 'ended') return stage.kind === 'expired';
  return stage.outcome.isOfPlan === true || ['expired', 'refused'].includes(stage.outcome.kind);
}

/** Says for how long an open plan is valid. Undefined at other stages, and without a ticket, because then the view has no buttons. */
function expiryText(stage: Stage, formatTime: FormatTime): string | undefined {
  if (stage.kind !== 'open' || stage.change.ticket === undefined) return undefined;
  const end = Date.parse(stage.change.expiresAt);
  const left = humanDuration(Math.max(0, (end - Date.now()) / 1000));
  return t('Valid until {0}, for another {1}.', formatTime(end), t(left));
}

/** The plan, collapsed below an outcome. An unchanged plan is not drawn again. */
function createPlanPanel() {
  const panelElement = element('div');
  let shown: { readonly change: ProposedChange | undefined; readonly isCollapsed: boolean } | undefined;
  return {
    element: panelElement,
    show(change: ProposedChange | undefined, isCollapsed: boolean, formatTime: FormatTime) {
      if (shown !== undefined && change === shown.change && isCollapsed === shown.isCollapsed) return;
      shown = { change, isCollapsed };
      // A section that the person has opened stays open.
      const isOpen = panelElement.querySelector('details')?.open === true;
      panelElement.className = change?.isSandbox === true ? 'plan of-sandbox' : 'plan';
      if (change === undefined) panelElement.replaceChildren();
      else if (isCollapsed) panelElement.replaceChildren(collapsedPlan(change, formatTime));
      else panelElement.replaceChildren(...planHead(change), ...planBody(change, formatTime));
      if (isOpen && !isCollapsed) panelElement.querySelector('details')?.setAttribute('open', '');
    },
  };
}

/** Creates two inputs: the name of the thing that will be deleted, if the plan asks for the name, and a reason for declining. */
function createInputs() {
  const nameInput = element('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const namePrompt = element('span');
  const nameField = element('label', { class: 'field', hidden: '' }, namePrompt, nameInput);

  const reasonInput = element('input', { type: 'text', maxlength: String(longestReason), autocomplete: 'off' });
  const reasonPrompt = element('span');
  const reasonField = element('label', { class: 'field', hidden: '' }, reasonPrompt, reasonInput);

  return {
    elements: [nameField, reasonField],
    /**
     * Shows the inputs while the person can accept or decline, and hides them at other stages. A typed reason that was not sent (`isUnsent`)
     * stays, so that it can be copied.
     */
    show(
      change: ProposedChange | undefined,
      { canDecide, isUnsent }: { readonly canDecide: boolean; readonly isUnsent: boolean },
    ) {
      const typePrompt = change?.typePrompt;
      const keepsReason = isUnsent && reasonInput.value.trim() !== '';
      reasonField.hidden = !canDecide && !keepsReason;
      reasonInput.readOnly = !canDecide;
      setText(reasonPrompt, canDecide ? 'Reason, if you decline (optional)' : 'Your reason, which was not sent');
      nameField.hidden = !canDecide || typePrompt === undefined;
      if (typePrompt !== undefined) setText(namePrompt, typePrompt);
    },
    typedArguments({ typePrompt }: ProposedChange, decision: ViewDecision['decision']) {
      // "Ask again" sends a lost `accept` once more. The name input is hidden by then, but keeps its text, so the name is the same.
      if (decision === 'accept' && typePrompt !== undefined) return { name: nameInput.value };
      const reason = reasonInput.value.trim();
      return decision === 'decline' && reason !== '' ? { reason } : {};
    },
  };
}

/** The primary button and the button to decline. While a click is sent, `ariaDisabled` makes them ignore clicks: `disabled` would lose the focus. */
function createButtons(onPrimary: () => Promise<void>, onDecline: () => Promise<void>) {
  const primary = element('button', { type: 'button' });
  const decline = element('button', { type: 'button' });
  const buttons = element('div', { class: 'buttons', hidden: '' }, primary, decline);
  primary.addEventListener('click', () => {
    if (primary.ariaDisabled !== 'true') void onPrimary();
  });
  decline.addEventListener('click', () => {
    if (decline.ariaDisabled !== 'true') void onDecline();
  });

  return {
    element: buttons,
    /** Shows the buttons. Hides them if `shown` is undefined. */
    show(shown: ShownButtons | undefined) {
      buttons.hidden = shown === undefined;
      if (shown === undefined) return;
      const { primaryLabel, declineLabel, areBusy, hasNoWayBack } = shown;
      setText(primary, primaryLabel);
      primary.className = hasNoWayBack ? 'accept final' : 'accept';
      setText(decline, declineLabel ?? '');
      decline.hidden = declineLabel === undefined;
      for (const button of [primary, decline]) button.ariaDisabled = areBusy ? 'true' : null;
    },
  };
}

interface ShownButtons {
  readonly primaryLabel: string;
  /** Undefined if there is only the primary button. */
  readonly declineLabel?: string;
  readonly areBusy: boolean;
  /** True if accepting cannot be undone. */
  readonly hasNoWayBack: boolean;
}

/** The buttons at a stage. They stay while a click on one of them is sent. Undefined if the stage has no buttons. */
function buttonsAt(stage: Stage, { callsTools }: HostFacts): ShownButtons | undefined {
  // Each click is a tool call with the ticket of the plan.
  if (!callsTools || changeOf(stage)?.ticket === undefined) return undefined;
  switch (stage.kind) {
    case 'open':
      return decisionButtons(stage.change);
    case 'sending': {
      const buttons = stage.earlierAcceptLost ? askAgain : decisionButtons(stage.change);
      return { ...buttons, areBusy: true };
    }
    case 'lost':
      return askAgain;
    default:
      return undefined;
  }
}

const decisionButtons = ({ accept, decline, risks }: ProposedChange): ShownButtons => ({
  primaryLabel: accept,
  declineLabel: decline,
  areBusy: false,
  hasNoWayBack: risks.includes('no way back'),
});

/** Needs no warning (`hasNoWayBack`), because it only repeats an agreement. */
const askAgain: ShownButtons = { primaryLabel: 'Ask again', areBusy: false, hasNoWayBack: false };

const collapsedPlan = (change: ProposedChange, formatTime: FormatTime) =>
  element(
    'details',
    { class: 'folded' },
    element('summary', { dir: 'auto' }, ...shownText(t('The plan: {0}', change.sentence))),
    ...riskList(change),
    ...planBody(change, formatTime),
  );

const paragraph = (text: string, className = '') => element('p', { class: className, dir: 'auto' }, ...shownText(text));

/** The outcome at a stage, with region and account, because the plan below it is collapsed or missing. Empty if there is no outcome. */
function outcomeAt(stage: Stage, formatTime: FormatTime): readonly Node[] {
  const shownPanel = panelAt(stage, formatTime);
  if (shownPanel === undefined) return [];
  // If the result has no plan, the outcome names region and account.
  const { isSandbox = false, where = [] } = changeOf(stage) ?? (stage.kind === 'ended' ? stage.outcome : {});
  const things = stage.kind === 'ended' ? stage.outcome.things : undefined;
  const table = things === undefined ? [] : [tableSection(things, formatTime)];
  return [...sandboxBanner(isSandbox), shownPanel, ...whereLine(where), ...table];
}

/** The panel with the outcome. Undefined at a stage without an outcome. */
function panelAt(stage: Stage, formatTime: FormatTime): Node | undefined {
  switch (stage.kind) {
    case 'ended':
      return outcomePanel(stage.outcome, formatTime);
    case 'expired':
      return expiredPanel();
    case 'lost':
      return lostPanel();
    default:
      return undefined;
  }
}

function expiredPanel(): HTMLElement {
  const advice =
    'It can no longer be decided on. If nobody decided before, nothing was sent: ask for it again if you still want it.';
  return panel('expired', 'nothing', 'This plan has expired', paragraph(advice));
}

function lostPanel(): HTMLElement {
  const advice = 'The change may have happened. Asking again is safe: what you agreed to can happen only once.';
  return panel('unknown', 'unknown', 'No answer came', paragraph(advice, 'sentence'));
}

/** The lines between plan and buttons: the progress of a click, a note about the last click or, without buttons, other ways to decide. */
function progressLines(stage: Stage, host: HostFacts): readonly Node[] {
  switch (stage.kind) {
    case 'waiting':
      return [paragraph('Waiting for the plan …')];
    case 'plain':
      return [paragraph(stage.text)];
    case 'sending':
      return [paragraph(stage.decision === 'accept' ? 'Sending …' : 'Closing …')];
    case 'open':
      return openPlanLines(stage.change, stage.note, host);
    default:
      // The other stages have an outcome, whose panel says everything.
      return [];
  }
}

function openPlanLines({ ticket, otherWays }: ProposedChange, note: string | undefined, { callsTools }: HostFacts) {
  const notes = note === undefined ? [] : [paragraph(note, 'problem')];
  if (ticket !== undefined && callsTools) return notes;
  // `notPassedOn` removes the ticket and adds a note. Without a note, there never was a ticket, because the chat itself asks the person.
  if (ticket === undefined && note === undefined) return [paragraph('The decision is made in the chat.')];
  const section = element('section', { class: 'elsewhere' }, element('h2', {}, t('This chat does not pass clicks on')));
  if (otherWays.length === 0) {
    section.append(paragraph('It cannot be decided here.'));
  } else {
    const ways = otherWays.map((way) => element('li', { dir: 'auto' }, way));
    section.append(paragraph('It cannot be decided here. To decide:'), element('ul', {}, ...ways));
  }
  return [...notes, section];
}
