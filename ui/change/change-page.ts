import { longestReason } from '../../src/consent/decline-reason.js';
import type { Decision, ProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { humanDuration } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, setText, shownText } from '../shared/elements.js';
import { expiredPlan, type Stage } from './decision.js';
import { outcomePanel, panel } from './outcome.js';
import { planBody, planHead, riskList, sandboxBanner, whereLine } from './plan.js';

/** The elements of the change view. */
interface ChangePage {
  readonly main: HTMLElement;
  /** Shows a stage of the decision. Elements that do not change keep the focus. */
  show(stage: Stage, host: HostFacts): void;
  /** Shows for how long an open plan is valid. */
  showExpiry(stage: Stage, host: HostFacts): void;
  /** The arguments that the person typed for a decision: a reason for declining, or the name of what is deleted. */
  typedArguments(decision: Decision['decision']): Pick<Decision, 'reason' | 'name'>;
}

/** The facts about the host that decide what the page shows. */
export interface HostFacts {
  /** True if the host forwards clicks. */
  readonly callsTools: boolean;
  readonly formatTime: FormatTime;
}

interface ChangePageEvents {
  /** Called for a click on the button that accepts, plans again or asks again, as its label says. */
  onAccept(): Promise<void>;
  onDecline(): Promise<void>;
}

export function createChangePage({ onAccept, onDecline }: ChangePageEvents): ChangePage {
  const outcome = element('div', { role: 'status' });
  const plan = createPlanPanel();
  const expiry = element('p', { class: 'quiet' });
  const progress = element('div', { role: 'status' }, 'Waiting for the plan …');
  const fields = createTypedFields();
  const buttons = createButtons(onAccept, onDecline);
  const main = element('main', { class: 'change' });
  main.append(outcome, plan.element, expiry, progress, ...fields.elements, buttons.element);

  const showExpiry = (stage: Stage, { formatTime }: HostFacts) => {
    const text = expiryText(stage, formatTime);
    expiry.hidden = text === undefined;
    if (text !== undefined) setText(expiry, text);
  };

  return {
    main,
    show(stage, host) {
      const hadFocus = main.contains(document.activeElement);
      const change = changeOf(stage);
      const panels = outcomePanels(stage, host.formatTime);
      outcome.replaceChildren(...(panels.length === 0 ? [] : withPlace(panels, stage)));
      plan.show(change, panels.length > 0, host.formatTime);
      showExpiry(stage, host);
      progress.replaceChildren(...progressLines(stage, host));
      const shownButtons = buttonsAt(stage, host);
      buttons.show(shownButtons);
      fields.show(change, shownButtons.areOffered && shownButtons.decline !== '');
      // A button that had the focus may be hidden now.
      const isFocusLost = buttons.element.hidden || !main.contains(document.activeElement);
      if (hadFocus && isFocusLost) outcome.querySelector<HTMLElement>('h1')?.focus();
    },
    showExpiry,
    typedArguments: fields.typedArguments,
  };
}

/** Says for how long an open plan is valid. Undefined at other stages, and for a plan that this view cannot decide. */
function expiryText(stage: Stage, formatTime: FormatTime): string | undefined {
  if (stage.kind !== 'open' || stage.change.ticket === undefined) return undefined;
  const end = Date.parse(stage.change.expiresAt);
  const left = humanDuration(Math.max(0, (end - Date.now()) / 1000));
  return `Valid until ${formatTime(end)}, for another ${left}.`;
}

const changeOf = (stage: Stage): ProposedChange | undefined => ('change' in stage ? stage.change : undefined);

/** The plan, collapsed if an outcome stands above it. It is drawn again only if it changes, so that what the person opened stays open. */
function createPlanPanel() {
  const panelElement = element('div');
  let shown: { readonly change: ProposedChange | undefined; readonly isCollapsed: boolean } | undefined;
  return {
    element: panelElement,
    show(change: ProposedChange | undefined, isCollapsed: boolean, formatTime: FormatTime) {
      if (shown !== undefined && change === shown.change && isCollapsed === shown.isCollapsed) return;
      shown = { change, isCollapsed };
      panelElement.className = change?.isSandbox === true ? 'plan of-sandbox' : 'plan';
      if (change === undefined) panelElement.replaceChildren();
      else if (isCollapsed) panelElement.replaceChildren(collapsedPlan(change, formatTime));
      else panelElement.replaceChildren(...planHead(change), ...planBody(change, formatTime));
    },
  };
}

/** The fields in which a person types: the name of what is deleted, and a reason for declining. */
function createTypedFields() {
  const name = element('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const nameLabel = element('span');
  const nameField = element('label', { class: 'reason', hidden: '' }, nameLabel, name);
  const reason = element('input', { type: 'text', maxlength: String(longestReason), autocomplete: 'off' });
  const reasonField = element('label', { class: 'reason', hidden: '' }, 'Reason, if you decline (optional) ', reason);
  return {
    elements: [nameField, reasonField],
    show(change: ProposedChange | undefined, isOpen: boolean) {
      const { typedName } = change ?? {};
      reasonField.hidden = !isOpen;
      nameField.hidden = !isOpen || typedName === undefined;
      setText(nameLabel, `Type ${typedName ?? ''} to agree`);
    },
    typedArguments(decision: Decision['decision']): Pick<Decision, 'reason' | 'name'> {
      if (decision === 'accept') return nameField.hidden ? {} : { name: name.value };
      const text = reason.value.trim();
      return decision === 'decline' && text !== '' ? { reason: text } : {};
    },
  };
}

/** The two buttons. While they are busy, clicks are ignored. They are never disabled, because a disabled button loses the focus. */
function createButtons(onAccept: () => Promise<void>, onDecline: () => Promise<void>) {
  const accept = element('button', { type: 'button' });
  const decline = element('button', { type: 'button' });
  const buttons = element('div', { class: 'buttons', hidden: '' }, accept, decline);
  accept.addEventListener('click', () => {
    if (accept.ariaDisabled !== 'true') void onAccept();
  });
  decline.addEventListener('click', () => {
    if (decline.ariaDisabled !== 'true') void onDecline();
  });
  return {
    element: buttons,
    show(shown: ShownButtons) {
      buttons.hidden = !shown.areOffered;
      setText(accept, shown.accept);
      accept.className = shown.isFinal ? 'accept final' : 'accept';
      setText(decline, shown.decline);
      decline.hidden = shown.decline === '';
      for (const button of [accept, decline]) button.ariaDisabled = shown.areBusy ? 'true' : null;
    },
  };
}

/** The labels and the state of the two buttons. */
interface ShownButtons {
  readonly areOffered: boolean;
  readonly accept: string;
  /** Empty if there is only one button. */
  readonly decline: string;
  readonly areBusy: boolean;
  /** True if accepting cannot be undone. */
  readonly isFinal: boolean;
}

function buttonsAt(stage: Stage, { callsTools }: HostFacts): ShownButtons {
  const buttonsFor = (change: ProposedChange | undefined, accept: string, decline = ''): ShownButtons => ({
    areOffered: change?.ticket !== undefined && callsTools,
    accept,
    decline,
    areBusy: stage.kind === 'sending' || stage.kind === 'planning',
    isFinal: false,
  });
  if (stage.kind === 'lost' || (stage.kind === 'sending' && stage.lost)) return buttonsFor(stage.change, 'Ask again');
  if (stage.kind === 'open' || stage.kind === 'sending') {
    const { change } = stage;
    return { ...buttonsFor(change, change.accept, change.decline), isFinal: change.risks.includes('no way back') };
  }
  return buttonsFor(stage.kind === 'planning' ? stage.change : expiredPlan(stage), 'Plan again');
}

const collapsedPlan = (change: ProposedChange, formatTime: FormatTime) =>
  element(
    'details',
    { class: 'folded' },
    element('summary', { dir: 'auto' }, ...shownText(`The plan: ${change.sentence}`)),
    ...riskList(change),
    ...planBody(change, formatTime),
  );

const paragraph = (text: string, className = '') => element('p', { class: className, dir: 'auto' }, ...shownText(text));

/** Adds the place of the change to its outcome, because the plan below is collapsed, or unknown. */
function withPlace(panels: readonly Node[], stage: Stage): readonly Node[] {
  const { isSandbox = false, where = [] } = changeOf(stage) ?? (stage.kind === 'ended' ? stage.outcome : {});
  return [...sandboxBanner(isSandbox), ...panels, ...whereLine(where)];
}

/** The panel with the outcome at a stage. Empty if there is no outcome. */
function outcomePanels(stage: Stage, formatTime: FormatTime): readonly Node[] {
  switch (stage.kind) {
    case 'ended':
      return [outcomePanel(stage.outcome, formatTime)];
    case 'expired':
      return [expiredPanel(stage.note)];
    case 'planning':
      return [expiredPanel()];
    case 'lost':
      return [lostPanel()];
    default:
      return [];
  }
}

/** @param note says why there is no new plan */
function expiredPanel(note?: string): HTMLElement {
  const advice =
    'It can no longer be decided on. If nobody decided before, nothing was sent: plan again if you still want it.';
  const notes = note === undefined ? [] : [paragraph(note, 'problem')];
  return panel('expired', 'nothing', 'This plan has expired', paragraph(advice), ...notes);
}

function lostPanel(): HTMLElement {
  const advice = 'The change may have happened. Asking again is safe: what you agreed to can happen only once.';
  return panel('unknown', 'unknown', 'No answer came', paragraph(advice, 'sentence'));
}

/** The progress at a stage. For an open plan, a note about the last click, and the ways to decide if there are no buttons. */
function progressLines(stage: Stage, host: HostFacts): readonly Node[] {
  switch (stage.kind) {
    case 'waiting':
      return [paragraph('Waiting for the plan …')];
    case 'plain':
      return [paragraph(stage.text)];
    case 'sending':
      return [paragraph(stage.decision === 'accept' ? 'Sending …' : 'Closing …')];
    case 'planning':
      return [paragraph('Planning again …')];
    case 'open':
      return openPlanLines(stage.change, stage.note, host);
    default:
      return [];
  }
}

function openPlanLines({ ticket, otherWays }: ProposedChange, note: string | undefined, { callsTools }: HostFacts) {
  const notes = note === undefined ? [] : [paragraph(note, 'problem')];
  if (ticket !== undefined && callsTools) return notes;
  if (ticket === undefined && note === undefined) return [paragraph('The decision is made in the chat.')];
  const section = element('section', { class: 'elsewhere' }, element('h2', {}, 'This chat does not pass clicks on'));
  if (otherWays.length === 0) section.append(paragraph('It cannot be decided here.'));
  else {
    const ways = otherWays.map((way) => element('li', { dir: 'auto' }, way));
    section.append(paragraph('It cannot be decided here. To decide:'), element('ul', {}, ...ways));
  }
  return [...notes, section];
}
