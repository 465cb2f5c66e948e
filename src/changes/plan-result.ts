import type { CallOutcome, EndedOutcome } from '../calls/outcome.js';
import type { Refusal } from '../calls/refusal.js';
import { next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { exact, join, own, quoted, type SafeText, say, shortNames, words } from '../util/safe-text.js';
import { type AddedChange, addChange, planInClientMs } from './add-change.js';
import { type Change, type DecisionOptions, noOptions } from './change.js';
import type { ChangeRun } from './change-context.js';
import { thingOf } from './decide.js';
import { addressOf, type DecisionPage } from './decision-page.js';
import { planText } from './plan.js';
import type { PlannedChange } from './plan-change.js';
import { shortQuestion } from './question.js';
import { againstAsking, againstConfirming } from './refusals.js';
import type { ConsentStep } from './required-consent.js';
import { visitPage } from './visit-page.js';

interface OpenPlan extends PlannedChange {
  readonly options: DecisionOptions;
  readonly stored: AddedChange | undefined;
  /** Undefined if the caller may not know it. */
  readonly pageUrl: string | undefined;
  readonly isDeadEnd: true | undefined;
}

/**
 * Answers with the plan and the ways to agree to it, and stores the change that waits.
 * @returns a refusal if there is no way to agree; never with `planOnly`
 */
export async function answerWithPlan(
  step: Extract<ConsentStep, { kind: 'plan' }>,
  planned: PlannedChange,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { page, now, questionLimits, guide } = run;
  const { call, row } = planned;
  const { options, refusal: closing } = await openOptions(step.options, row.requestKey, run);
  const added = Object.values(options).includes(true) ? await addChange(planned, options, run) : undefined;
  const stored = added?.kind === 'added' ? added : undefined;
  const refusal = added?.kind === 'refused' ? added : closing;
  // With `planOnly`, the plan is shown even if nobody can agree to it.
  if (stored === undefined && refusal !== undefined && !call.control.planOnly) return refusal;

  const pageUrl = stored !== undefined && options.onPage ? addressOf(row.id, page) : undefined;
  if (stored !== undefined && options.onPage) announce(stored.change, pageUrl, page);
  const open = {
    ...planned,
    options: stored === undefined ? noOptions : options,
    stored,
    pageUrl,
    isDeadEnd: step.isDeadEnd,
  };
  const answer = planOutcome(open, now().getTime());

  // With `approval`, another person decides.
  if (guide === undefined || stored === undefined || pageUrl === undefined || row.mode === 'approval') return answer;
  const question = shortQuestion(row.plan, call, questionLimits, now());
  return visitPage(stored, { address: pageUrl, question, answer }, guide, run);
}

/** Returns the ways that earlier refusals leave open. */
async function openOptions({ byConfirmation, byClick, onPage }: DecisionOptions, requestKey: string, run: ChangeRun) {
  const ofClicks = byClick || onPage ? await againstAsking(run) : undefined;
  const ofConfirmation = byConfirmation ? await againstConfirming(requestKey, run) : undefined;
  const options = {
    byForm: false,
    byClick: byClick && ofClicks === undefined,
    onPage: onPage && ofClicks === undefined,
    byConfirmation: byConfirmation && ofConfirmation === undefined,
  };
  return { options, refusal: ofClicks ?? ofConfirmation };
}

/** Opens the local page, or announces the change. */
function announce(
  { id, tool, caller, plan, isPrivate, what }: Change,
  pageUrl: string | undefined,
  page: DecisionPage | undefined,
): void {
  // An announcement leaves for a chat, where private values have no place.
  const headline = isPrivate === true ? quoted(what, 500) : shortNames(plan.summary);
  if (page?.kind === 'local') page.show(id);
  else if (pageUrl !== undefined) page?.announce({ tool, caller, headline, decideAt: pageUrl });
}

function planOutcome(planned: OpenPlan, issuedAt: number): EndedOutcome {
  const { row, options, pageUrl, stored, replaceable } = planned;
  const { tool, plan, accept, typedName } = row;
  const { byConfirmation, byClick, onPage } = options;
  // A decision in the client counts for ten minutes.
  const inClient = issuedAt + planInClientMs;
  const expiresAt = byConfirmation ? inClient : (stored?.change.expiresAt ?? inClient);
  const planExpires = new Date(expiresAt).toISOString();
  const deadlineText = stored === undefined ? undefined : `${planExpires.slice(0, 16).replace('T', ' ')} UTC`;
  const stepsToReplace = replaceable.map(
    ({ id }) =>
      say`If this plan replaces the other one, call ${own(tool)} with the same arguments and replaces: ${exact(id)}.`,
  );
  return {
    kind: 'succeeded',
    success: {
      // `show` has these plans for the person.
      summary: join([say`Plan of ${own(tool)}; nothing was sent.`, ...(plan.others ?? [])], ' '),
      // `waiting` means that nobody can decide in the client.
      outcome: onPage && !byConfirmation && !byClick ? 'waiting' : 'planned',
      ...(stored !== undefined && { changeId: row.id, planExpires }),
      show: planText(plan, deadlineText),
      // For the change view. The agent's result keeps only its request.
      plan,
      ...(pageUrl !== undefined && { decideAt: pageUrl }),
      next: next('user', 'decide', join([...stepsToReplace, nextSteps(planned)], ' ')),
      warnings: [],
      requestIds: {},
    },
    view: {
      kind: 'plan',
      accept,
      ...(typedName !== undefined && { typedName }),
      issuedAt,
      expiresAt,
      ...(byConfirmation && { inChat: true }),
      ...(byClick && stored !== undefined && { ticket: stored.proof }),
    },
  };
}

function nextSteps(planned: OpenPlan): SafeText {
  const { row, call, options, isDeadEnd } = planned;
  const { byConfirmation, byClick } = options;
  const withoutAgent = sentencesAboutPeople(planned);
  if (withoutAgent.length > 0 && !byConfirmation)
    return join(
      sentences(
        ...withoutAgent,
        byClick && say`Wait for the decision: only a click carries this plan out.`,
        say`To learn what became of it, call get_change with this changeId; call withdraw_change if the user no longer wants it.`,
      ),
      ' ',
    );
  if (withoutAgent.length > 0) {
    const leave = say`Leave the decision to them. Only if they tell you to go ahead instead`;
    return confirmAfterYes(join([...withoutAgent, leave], ' '), row);
  }

  const showAll = say`Show the user all of "show", in their language.`;
  if (isDeadEnd)
    return say`${showAll} Nobody can agree to it here: that needs a client that asks its user or shows views, a page, or a terminal (cloudops-mcp call).`;
  const condition = call.control.planOnly ? say`Stop there. Only if they then ask for it` : say`If they say yes to it`;
  const start = join([showAll, condition], ' ');
  if (byConfirmation) return confirmAfterYes(start, row);
  return say`${start}, call ${own(row.tool)} with the same arguments, without planOnly.`;
}

/** The ways in which people decide without the agent. */
function sentencesAboutPeople({ row, options: { byClick, onPage }, pageUrl }: OpenPlan): readonly SafeText[] {
  const who = words(row.mode === 'approval' ? 'somebody other than the user' : 'a person');
  return sentences(
    byClick && say`The user sees this plan with a button to agree and one to do nothing.`,
    byClick && pageUrl !== undefined && say`If they see no button, they decide at the link.`,
    byClick &&
      pageUrl === undefined &&
      say`If they see no button, they can decide where this server runs, with cloudops-mcp call.`,
    pageUrl !== undefined && say`Give the user the link in decideAt: ${who} decides there.`,
    onPage &&
      pageUrl === undefined &&
      say`This plan waits on the machine of this server, in a browser tab or at the link in its terminal: tell the user to decide there.`,
  );
}

const confirmAfterYes = (condition: SafeText, row: OpenPlan['row']): SafeText =>
  say`${condition}, call confirm_change with this changeId and thing ${quoted(thingOf(row), 200)}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
