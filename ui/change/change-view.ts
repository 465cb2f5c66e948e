import { decideTool } from '../../src/mcp/views/contract/apps.js';
import type { Decision, ProposedChange } from '../../src/mcp/views/contract/change.js';
import { methodNotFound, RequestFailed } from '../../src/mcp/views/contract/json-rpc.js';
import { humanDuration } from '../../src/util/human.js';
import type { Host, ToolResult } from '../host/host.js';
import { type FormatTime, timeFormat } from '../shared/appearance.js';
import { element, listSection, setText } from '../shared/elements.js';
import { startView } from '../shared/start-view.js';
import { answered, begin, click, expire, notPassedOn, type Stage, unanswered } from './decision.js';
import { outcomePanel } from './outcome.js';

/** After this long without an answer the view says that there is none, and keeps waiting for one. */
const lateMs = 75_000;

/** A host that has not answered by then is not going to. */
const answerMs = 15 * 60_000;

const clockMs = 5_000;

/** Shows a plan and takes the decision on it, or shows what came of a change. */
export async function startChangeView(): Promise<void> {
  const main = element('main', { class: 'change' });
  const plan = element('div');
  const expiry = element('p', { class: 'expiry' });
  const accept = element('button', { type: 'button', class: 'accept' });
  const decline = element('button', { type: 'button' });
  const buttons = element('div', { class: 'buttons', hidden: '' }, accept, decline);
  const status = element('div', { role: 'status', class: 'status' }, 'Waiting for the plan …');
  main.append(plan, expiry, status, buttons);
  document.body.append(main);

  let host: Host | undefined;
  let formatTime: FormatTime = timeFormat({ locale: undefined, timeZone: undefined });
  let stage: Stage = { kind: 'waiting' };
  let shownPlan: ProposedChange | undefined;

  const go = (next: Stage) => {
    if (next === stage) return;
    stage = next;
    show();
  };

  const show = () => {
    const change = 'change' in stage ? stage.change : undefined;
    if (change !== undefined && change !== shownPlan) plan.replaceChildren(...planOf(change));
    shownPlan = change;
    showExpiry();
    status.replaceChildren(...statusOf(stage, host));
    const { isOffered, accepts, declines, isBusy } = buttonsAt(stage, host);
    const focused = buttons.contains(document.activeElement);
    buttons.hidden = !isOffered;
    setText(accept, accepts);
    setText(decline, declines);
    decline.hidden = declines === '';
    for (const button of [accept, decline]) button.ariaDisabled = isBusy ? 'true' : null;
    if (focused && buttons.hidden) status.querySelector<HTMLElement>('h2')?.focus();
  };

  const showExpiry = () => {
    const open = stage.kind === 'open' ? stage.change : undefined;
    expiry.hidden = open?.ticket === undefined;
    if (open === undefined) return;
    const end = Date.parse(open.expiresAt);
    const left = humanDuration(Math.max(0, (end - Date.now()) / 1000));
    setText(expiry, `Valid until ${formatTime(end)}, for another ${left}.`);
  };

  const decide = async (decision: Decision['decision']) => {
    go(click(stage, decision));
    if (stage.kind !== 'sending' || host === undefined || stage.change.ticket === undefined) return;
    const late = setTimeout(() => go(unanswered(stage)), lateMs);
    try {
      const args = { ticket: stage.change.ticket, decision };
      const result = await host.callTool(decideTool, args, answerMs);
      const next = answered(stage, result);
      go(next);
      if (next.kind === 'ended') host.updateModelContext(result.text);
    } catch (error) {
      const unknown = error instanceof RequestFailed && error.code === methodNotFound;
      go(unknown ? notPassedOn(stage) : unanswered(stage));
    } finally {
      clearTimeout(late);
    }
  };

  accept.addEventListener('click', () => void ignoringRepeats(accept, () => decide('accept')));
  decline.addEventListener('click', () => void ignoringRepeats(decline, () => decide('decline')));
  const clock = setInterval(() => {
    go(expire(stage, Date.now()));
    showExpiry();
  }, clockMs);

  host = await startView('cloudops-change', main, {
    // A decision that is under way, or made, is not begun anew by a host that sends the result again.
    onResult: (result: ToolResult) => {
      if (stage.kind === 'waiting' || stage.kind === 'plain') go(begin(result, Date.now()));
    },
    onCancelled: () => go({ kind: 'plain', text: 'The call was cancelled.' }),
    onTeardown: () => clearInterval(clock),
  });
  if (host !== undefined) formatTime = timeFormat(host.context);
}

/** The buttons at a stage of the decision. */
function buttonsAt(stage: Stage, host: Host | undefined) {
  const change = stage.kind === 'open' || stage.kind === 'sending' || stage.kind === 'lost' ? stage.change : undefined;
  const asksAgain = stage.kind === 'lost' || (stage.kind === 'sending' && stage.lost);
  return {
    isOffered: change?.ticket !== undefined && host?.callsTools === true,
    accepts: asksAgain ? 'Ask again' : (change?.accept ?? ''),
    declines: asksAgain ? '' : (change?.decline ?? ''),
    isBusy: stage.kind === 'sending',
  };
}

/** A button that says it is disabled keeps the focus, and does nothing. */
async function ignoringRepeats(button: HTMLButtonElement, act: () => Promise<void>): Promise<void> {
  if (button.ariaDisabled !== 'true') await act();
}

const planOf = ({ sentence, effects, warnings, defaults, request }: ProposedChange): readonly Node[] => [
  element('h1', { dir: 'auto' }, sentence),
  ...listSection('What will happen', effects, 'effects'),
  ...listSection('Warnings', warnings, 'warnings'),
  ...listSection('Defaults that the cloud applies', defaults, 'defaults'),
  ...(request === ''
    ? []
    : [
        element('details', {}, element('summary', {}, 'The exact request'), element('pre', { tabindex: '0' }, request)),
      ]),
];

function statusOf(stage: Stage, host: Host | undefined): readonly Node[] {
  const paragraph = (text: string, className = '') => element('p', { class: className, dir: 'auto' }, text);
  const heading = (text: string) => element('h2', { tabindex: '-1' }, text);
  if (stage.kind === 'waiting') return [paragraph('Waiting for the plan …')];
  if (stage.kind === 'plain') return [paragraph(stage.text)];
  if (stage.kind === 'sending') return [paragraph(stage.decision === 'accept' ? 'Sending …' : 'Closing …')];
  if (stage.kind === 'ended') return [outcomePanel(stage.outcome)];
  if (stage.kind === 'expired')
    return [
      heading('This plan has expired'),
      paragraph(
        'It can no longer be decided here. If it was decided before, the journal (cloudops-mcp journal) says what came of it. Otherwise nothing was sent: ask for it again if you still want it.',
      ),
    ];
  if (stage.kind === 'lost')
    return [
      heading('No answer came'),
      paragraph(
        'The change may have happened. Asking again is safe: what you agreed to can happen only once.',
        'problem',
      ),
    ];
  if (stage.note !== undefined) return [paragraph(stage.note, 'problem')];
  if (stage.change.ticket === undefined) return [paragraph('The decision is made in the chat.')];
  return host?.callsTools === true
    ? []
    : [paragraph('This chat does not pass clicks on to the server, so it cannot be decided here.')];
}
