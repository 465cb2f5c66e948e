import type { CallOutcome, EndedOutcome } from '../calls/outcome.js';
import type { Refusal } from '../calls/refusal.js';
import { next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { exact, join, own, quoted, type SafeText, say, shortNames, words } from '../util/safe-text.js';
import { type AddedChange, addChange, visitPage } from './ask-user.js';
import { type Change, type DecisionOptions, noOptions } from './change.js';
import type { ChangeRun } from './change-context.js';
import { thingOf } from './change-state.js';
import { againstAsking, planInClientMs } from './decide.js';
import { planText, shortQuestion } from './plan.js';
import type { PlannedChange } from './plan-change.js';
import { addressOf, type DecisionPage } from './required-consent.js';

/** This file answers a call with the plan of its change, and with the ways to agree to it. */

interface OpenPlan extends PlannedChange {
  /** Undefined if nobody can agree to the plan. */
  readonly stored: AddedChange | undefined;
  /** Undefined if the caller may not know it. */
  readonly pageUrl: string | undefined;
}

/** Stores the change that waits. Returns a refusal if there is no way to agree; never with `planOnly`. */
export async function answerWithPlan(
  options: DecisionOptions,
  planned: PlannedChange,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { page, now, questionLimits, guide } = run;
  const { call, row } = planned;
  const added = await addIfOpen(planned, options, run);
  // With `planOnly`, the plan is shown even if nobody can agree to it.
  if (added?.kind === 'refused' && !call.control.planOnly) return added;
  const stored = added?.kind === 'added' ? added : undefined;
  const onPage = stored?.change.options.onPage === true;
  const pageUrl = onPage ? addressOf(row.id, page) : undefined;
  if (onPage) announce(stored.change, pageUrl, page);
  const answer = planOutcome({ ...planned, stored, pageUrl }, now());
  // With `approval`, another person decides.
  if (guide === undefined || stored === undefined || pageUrl === undefined || row.mode === 'approval') return answer;
  const question = shortQuestion(row.plan, call, questionLimits, now());
  return visitPage(stored, pageUrl, question, answer, guide, run);
}

/** Stores the change, unless earlier refusals close the only way to agree. */
async function addIfOpen(planned: PlannedChange, options: DecisionOptions, run: ChangeRun) {
  if (!Object.values(options).includes(true)) return undefined;
  // An agent confirms only if neither a click nor a page reaches a person.
  const closed = await againstAsking(run, options.byConfirmation ? planned.row : {});
  return closed ?? addChange(planned, options, run);
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

const optionsOf = ({ stored }: OpenPlan): DecisionOptions => stored?.change.options ?? noOptions;

function planOutcome(planned: OpenPlan, now: Date): EndedOutcome {
  const { row, pageUrl, stored, replaceable } = planned;
  const { tool, plan, accept, typedName } = row;
  const { byConfirmation, byClick, onPage } = optionsOf(planned);
  const issuedAt = now.getTime();
  const expiresAt = stored?.change.expiresAt ?? issuedAt + planInClientMs;
  const planExpires = new Date(expiresAt).toISOString();
  const deadlineText = stored === undefined ? undefined : `${planExpires.slice(0, 16).replace('T', ' ')} UTC`;
  const stepsToReplace = replaceable.map(
    ({ id }) =>
      say`If this plan replaces the other one, call ${own(tool)} with the same arguments and replaces: ${exact(id)}.`,
  );
  return {
    kind: 'succeeded',
    success: {
      summary: say`Plan of ${own(tool)}; nothing was sent.`,
      // `waiting` means that nobody can decide in the client.
      outcome: onPage && !byClick ? 'waiting' : 'planned',
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
  const { row, call } = planned;
  const { byClick } = optionsOf(planned);
  const aboutPeople = sentencesAboutPeople(planned);
  if (aboutPeople.length > 0)
    return join(
      sentences(
        ...aboutPeople,
        byClick && say`Wait for the decision: only a click carries this plan out.`,
        say`To learn what became of it, call get_change with this changeId; call withdraw_change if the user no longer wants it.`,
      ),
      ' ',
    );
  const showAll = say`Show the user all of "show", in their language.`;
  if (call.control.planOnly)
    return say`${showAll} Stop there. Only if they then ask for it, call ${own(row.tool)} with the same arguments, without planOnly.`;
  return say`${showAll} If they say yes to it, call confirm_change with this changeId and thing ${quoted(thingOf(row), 200)}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

/** The ways in which people decide without the agent. */
function sentencesAboutPeople(planned: OpenPlan): readonly SafeText[] {
  const { row, pageUrl } = planned;
  const { byClick, onPage } = optionsOf(planned);
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
