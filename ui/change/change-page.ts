import { longestReason } from '../../src/consent/decline-reason.js';
import type { Decision, ProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { humanDuration } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, setText, shownText } from '../shared/elements.js';
import { expiredPlan, type Stage } from './decision.js';
import { outcomePanel, panel } from './outcome.js';
import { planBody, planHead, riskList, sandboxBanner, whereLine } from './plan.js';

/** The elements of the change view. */
export interface ChangePage {
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

export interface ChangePageEvents {
  /** The button that accepts, plans again or asks again, as its label says. A click is ignored while the promise is pending. */
  onAccept(): Promise<void>;
  onDecline(): Promise<void>;
}

export function createChangePage({ onAccept, onDecline }: ChangePageEvents): ChangePage {
  const outcome = element('div', { role: 'status' });
  const plan = createPlanPanel();
  const expiry = element('p', { class: 'quiet' });
  const progress = element('div', { role: 'status' }, 'Waiting for the plan …');
  const fields = createTypedFields();
  const accept = element('button', { type: 'button' });
  const decline = element('button', { type: 'button' });
  const buttons = element('div', { class: 'buttons', hidden: '' }, accept, decline);
  const main = element(
    'main',
    { class: 'change' },
    outcome,
    plan.element,
    expiry,
    progress,
    ...fields.elements,
    buttons,
  );
  accept.addEventListener('click', () => void ignoringRepeats(accept, onAccept));
  decline.addEventListener('click', () => void ignoringRepeats(decline, onDecline));

  const showButtons = (shown: ShownButtons) => {
    buttons.hidden = !shown.areOffered;
    setText(accept, shown.accept);
    accept.className = shown.isFinal ? 'accept final' : 'accept';
    setText(decline, shown.decline);
    decline.hidden = shown.decline === '';
    for (const button of [accept, decline]) button.ariaDisabled = shown.areBusy ? 'true' : null;
  };

  const showExpiry = (stage: Stage, { formatTime }: HostFacts) => {
    const change = stage.kind === 'open' && stage.change.ticket !== undefined ? stage.change : undefined;
    expiry.hidden = change === undefined;
    if (change === undefined) return;
    const end = Date.parse(change.expiresAt);
    const left = humanDuration(Math.max(0, (end - Date.now()) / 1000));
    setText(expiry, `Valid until ${formatTime(end)}, for another ${left}.`);
  };

  return {
    main,
    show(stage, host) {
      const hadFocus = main.contains(document.activeElement);
      const change = changeOf(stage);
      const panels = outcomeOf(stage, host.formatTime);
      outcome.replaceChildren(...(panels.length === 0 ? [] : withPlace(panels, stage)));
      plan.show(change, panels.length > 0, host.formatTime);
      showExpiry(stage, host);
      progress.replaceChildren(...progressOf(stage, host));
      const shownButtons = buttonsAt(stage, host);
      showButtons(shownButtons);
      fields.show(change, shownButtons.areOffered && shownButtons.decline !== '');
      // A button that had the focus may be hidden now.
      const isFocusLost = buttons.hidden || !main.contains(document.activeElement);
      if (hadFocus && isFocusLost) outcome.querySelector<HTMLElement>('h1')?.focus();
    },
    showExpiry,
    typedArguments: fields.typedArguments,
  };
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

/** Runs `act` unless the button is disabled. Uses aria-disabled because a disabled button loses the focus. */
async function ignoringRepeats(button: HTMLButtonElement, act: () => Promise<void>): Promise<void> {
  if (button.ariaDisabled !== 'true') await act();
}

/** The labels of the two buttons, empty for a button that is not shown, and their state. */
interface ShownButtons {
  readonly areOffered: boolean;
  readonly accept: string;
  readonly decline: string;
  readonly areBusy: boolean;
  /** True if accepting cannot be undone. */
  readonly isFinal: boolean;
}

function buttonsAt(stage: Stage, { callsTools }: HostFacts): ShownButtons {
  const isBusy = stage.kind === 'sending' || stage.kind === 'planning';
  const buttonsFor = (change: ProposedChange | undefined, accept: string, decline = ''): ShownButtons => ({
    areOffered: change?.ticket !== undefined && callsTools,
    accept,
    decline,
    areBusy: isBusy,
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
function progressOf(stage: Stage, { callsTools }: HostFacts): readonly Node[] {
  if (stage.kind === 'waiting') return [paragraph('Waiting for the plan …')];
  if (stage.kind === 'plain') return [paragraph(stage.text)];
  if (stage.kind === 'sending') return [paragraph(stage.decision === 'accept' ? 'Sending …' : 'Closing …')];
  if (stage.kind === 'planning') return [paragraph('Planning again …')];
  if (stage.kind !== 'open') return [];
  const { change, note } = stage;
  const notes = note === undefined ? [] : [paragraph(note, 'problem')];
  if (change.ticket !== undefined && callsTools) return notes;
  if (change.ticket === undefined && note === undefined) return [paragraph('The decision is made in the chat.')];
  const ways = change.otherWays.map((way) => element('li', { dir: 'auto' }, way));
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
