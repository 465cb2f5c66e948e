import type { CallOutcome, EndedOutcome } from '../calls/outcome.js';
import type { Refusal } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { exact, join, own, quoted, type SafeText, say, shortNames, words } from '../util/safe-text.js';
import { addChange, planInClientMs } from './add-change.js';
import type { Change, DecisionOptions } from './change.js';
import type { ChangeRun } from './change-context.js';
import { thingOf } from './decide.js';
import { addressOf, type DecisionPage } from './decision-page.js';
import { acceptOf, planText } from './plan.js';
import type { PlannedChange } from './plan-change.js';
import { shortQuestion } from './question.js';
import { againstAsking, againstConfirming } from './refusals.js';
import type { ConsentStep } from './required-consent.js';
import { visitPage } from './visit-page.js';

type PlanStep = Extract<ConsentStep, { kind: 'plan' }>;

/** The ways to decide that are open, and what clients need for them. */
interface Ways extends DecisionOptions {
  /** The stored change. Undefined if nobody can decide on the plan later. */
  readonly change: Change | undefined;
  readonly proof: string | undefined;
  /** The address of the plan on the page, if the caller may know it. */
  readonly pageUrl: string | undefined;
  /** Set if nobody can agree to the plan, because this client and the configuration offer no way. */
  readonly isDeadEnd: boolean;
}

const closed: DecisionOptions = { byForm: false, byClick: false, onPage: false, byConfirmation: false };

/**
 * Answers with the plan and the ways to agree to it, and stores the change that waits. Sends the user to the page, if the client can.
 * @param step the ways that client and configuration offer
 * @returns a refusal if there is no way to agree, because of earlier refusals or because the change cannot be stored; never with `planOnly`
 */
export async function answerWithPlan(
  step: PlanStep,
  planned: PlannedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { page, now, questionLimits } = run;
  const { planOnly } = planned.call.control;
  const { options, refusal: earlierRefusal } = await openOptions(step.options, planned, run);
  const isOpen = Object.values(options).includes(true);
  const added = isOpen ? await addChange(planned, { options, replaced }, run) : undefined;
  const refusal = added?.kind === 'refused' ? added : earlierRefusal;
  const stored = added?.kind === 'added' ? added : undefined;
  // With `planOnly`, the plan is shown even if nobody can agree to it.
  if (stored === undefined && refusal !== undefined && !planOnly) return refusal;

  const { change, proof } = stored ?? {};
  const pageUrl = change !== undefined && options.onPage ? addressOf(change.id, page) : undefined;
  if (change !== undefined && options.onPage) announce(change, pageUrl, page);
  const ways = {
    ...(change === undefined ? closed : options),
    change,
    proof,
    pageUrl,
    isDeadEnd: step.isDeadEnd === true,
  };
  const answer = planOutcome(planned, now(), ways);

  // With `approval`, a person other than the user decides.
  const { guide } = run;
  if (guide === undefined || change === undefined || proof === undefined || pageUrl === undefined) return answer;
  if (change.mode === 'approval') return answer;
  const question = shortQuestion(planned.plan, planned.call, questionLimits, now());
  return visitPage(change, { proof, address: pageUrl, question, answer }, guide, run);
}

/** Returns the offered ways without those that earlier refusals close, and the refusal that closes one. */
async function openOptions(
  offered: DecisionOptions,
  { requestKey }: PlannedChange,
  run: ChangeRun,
): Promise<{ readonly options: DecisionOptions; readonly refusal: Refusal | undefined }> {
  const { byConfirmation, byClick, onPage } = offered;
  const ofConfirmation = byConfirmation ? await againstConfirming(requestKey, run) : undefined;
  // People are not asked to click after the user has declined too many changes.
  const ofClicks = byClick || onPage ? await againstAsking(run) : undefined;
  const mayClick = ofClicks === undefined;
  return {
    options: {
      byForm: false,
      byClick: byClick && mayClick,
      onPage: onPage && mayClick,
      byConfirmation: byConfirmation && ofConfirmation === undefined,
    },
    refusal: ofClicks ?? ofConfirmation,
  };
}

/** Opens the page in the browser of this machine, or announces the change to the people who sign in to the page. */
function announce(
  { id, tool, caller, plan }: Change,
  pageUrl: string | undefined,
  page: DecisionPage | undefined,
): void {
  if (page?.kind === 'local') page.show(id);
  else if (pageUrl !== undefined)
    page?.announce({ tool, caller, headline: shortNames(plan.summary), decideAt: pageUrl });
}

/** The answer with the plan: `success` for the agent, and `view` for the change view, in which the user sees the plan and may click. */
function planOutcome(planned: PlannedChange, time: Date, ways: Ways): EndedOutcome {
  const { call, plan, typedName, replaceable } = planned;
  const tool = call.operation.name;
  const { byConfirmation, byClick, onPage, pageUrl, change, proof } = ways;
  const issuedAt = time.getTime();
  const expiresAt = deadlineOf(ways, issuedAt);
  const expiresIso = new Date(expiresAt).toISOString();
  // If nobody can agree to the plan, its text has no deadline.
  const deadlineText = change === undefined ? undefined : `${expiresIso.slice(0, 16).replace('T', ' ')} UTC`;
  return {
    kind: 'succeeded',
    success: {
      // The summary tells the agent of the caller's other changes. `show` tells the person of them.
      summary: join([say`Plan of ${own(tool)}; nothing was sent.`, ...(plan.others ?? [])], ' '),
      // `waiting` says that nobody can decide in the client, because a person decides on the page.
      outcome: onPage && !byConfirmation && !byClick ? 'waiting' : 'planned',
      ...(change !== undefined && { changeId: change.id }),
      // The agent shows this text to the user.
      show: planText(plan, deadlineText),
      // The whole plan is for the change view. In the agent's result, only the request of the plan stays (`plainResult`).
      plan,
      ...(change !== undefined && { planExpires: expiresIso }),
      ...(pageUrl !== undefined && { decideAt: pageUrl }),
      next: next('user', 'decide', join([...stepsToReplace(replaceable, tool), nextSteps(planned, ways)], ' ')),
      warnings: [],
      requestIds: {},
    },
    view: {
      kind: 'plan',
      accept: acceptOf(call),
      ...(typedName !== undefined && { typedName }),
      issuedAt,
      expiresAt,
      ...(byConfirmation && { inChat: true }),
      ...(byClick && proof !== undefined && { ticket: proof }),
    },
  };
}

/** The deadline that a plan shows (milliseconds since 1970). A decision in the client counts for ten minutes, and on the page often longer. */
const deadlineOf = ({ byConfirmation, change }: Ways, issuedAt: number): number =>
  byConfirmation ? issuedAt + planInClientMs : (change?.expiresAt ?? issuedAt + planInClientMs);

/** The agent's next steps: people decide by a click or on the page, or the agent confirms after their yes in the chat, or both. */
function nextSteps({ call, subject }: PlannedChange, ways: Ways): SafeText {
  const thing = thingOf({ tool: call.operation.name, subject });
  const { byConfirmation, isDeadEnd } = ways;
  const withoutAgent = sentencesAboutPeople(call, ways);
  if (withoutAgent.length > 0 && !byConfirmation) return join([...withoutAgent, ...sentencesAboutOutcome(ways)], ' ');
  if (withoutAgent.length > 0) {
    const leave = say`Leave the decision to them. Only if they tell you to go ahead instead`;
    return confirmAfterYes(join([...withoutAgent, leave], ' '), thing);
  }

  const showAll = say`Show the user all of "show", in their language.`;
  if (isDeadEnd)
    return say`${showAll} Nobody can agree to it here: that needs a client that asks its user or shows views, a page, or a terminal (cloudops-mcp call).`;
  const { planOnly } = call.control;
  const condition = planOnly ? say`Stop there. Only if they then ask for it` : say`If they say yes to it`;
  const start = join([showAll, condition], ' ');
  if (byConfirmation) return confirmAfterYes(start, thing);
  return say`${start}, call ${own(call.operation.name)} with the same arguments, without planOnly.`;
}

/** A sentence for each of the waiting changes of the same thing, which says how to withdraw it in favour of this one. */
const stepsToReplace = (others: readonly Change[], tool: string): readonly SafeText[] =>
  others.map(
    ({ id }) =>
      say`If this plan replaces the other one, call ${own(tool)} with the same arguments and replaces: ${exact(id)}.`,
  );

/** Sentences about the ways in which people decide without the agent, by a click or on the page. Empty if there is no such way. */
function sentencesAboutPeople({ account }: ResolvedChange, { byClick, onPage, pageUrl }: Ways): readonly SafeText[] {
  const who = words(account.confirm === 'approval' ? 'somebody other than the user' : 'a person');
  return sentences(
    byClick && say`The user sees this plan with a button to agree and one to do nothing.`,
    byClick && pageUrl !== undefined && say`If they see no button, they decide at the link.`,
    byClick &&
      pageUrl === undefined &&
      say`If they see no button, they can decide where this server runs, with cloudops-mcp call.`,
    pageUrl !== undefined && say`Give the user the link in decideAt: ${who} decides there.`,
    onPage &&
      pageUrl === undefined &&
      say`This plan waits in a browser tab on the machine of this server: tell the user to decide there.`,
  );
}

/** Sentences about waiting for a decision without the agent, and about asking for the outcome. */
const sentencesAboutOutcome = ({ byClick }: Ways): readonly SafeText[] =>
  sentences(
    byClick && say`Wait for the decision: only a click carries this plan out.`,
    say`To learn what became of it, call get_change with this changeId; call withdraw_change if the user no longer wants it.`,
  );

/** Tells the agent to confirm after a yes. `condition` is the beginning of the sentence: `If they say yes to it`. */
const confirmAfterYes = (condition: SafeText, thing: string): SafeText =>
  say`${condition}, call confirm_change with this changeId and thing ${quoted(thing, 200)}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
