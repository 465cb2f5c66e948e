import type { Operation } from '../tools/define-operation.js';
import { digestOf } from '../util/digest.js';
import { fieldInWords, fieldUnit } from '../util/field-names.js';
import { leavesOf, textsAt, valueAt } from '../util/objects.js';
import { defined, duration, join, quoted, type SafeText, say, sentence, words } from '../util/safe-text.js';
import type { Plan } from './plan.js';
import { decisionText } from './plan-decision.js';
import type { FoundPlan, KeptPlan, PlanSubject } from './plans.js';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the thing that a change is about; undefined if the operation does not declare which arguments identify it. */
export function subjectOf({ name: tool, change }: Operation, account: string, input: Fields): PlanSubject | undefined {
  const values = (change?.identifies ?? []).map((path) =>
    path.includes('[]') ? textsAt(input, path) : valueAt(input, path),
  );
  // The last identifying argument is the name of the thing.
  const name = values.at(-1);
  return typeof name === 'string' ? { name, digest: digestOf([tool, account, values]) } : undefined;
}

/**
 * Returns the plans that wait or were accepted and have the same subject as a given plan, without that plan.
 * @param nonce of the given plan; undefined if the plan is not stored
 */
export function relatedPlans(
  plans: readonly FoundPlan[],
  { nonce, subject }: Partial<Pick<KeptPlan, 'nonce' | 'subject'>>,
): readonly FoundPlan[] {
  if (subject === undefined) return [];
  const others = plans.filter((other) => other.nonce !== nonce && other.subject?.digest === subject.digest);
  return others.filter(({ state, decision }) => state === 'waiting' || decision?.kind === 'accepted');
}

/** Adds sentences about other plans for the same thing to a plan that is shown. The digest of a decision does not cover them. */
export const withOtherPlans = (plan: Plan, others: readonly SafeText[]): Plan =>
  others.length === 0 ? plan : { ...plan, others };

/**
 * Describes another plan for the same thing in a sentence: `Another plan for "wiki" waits: disk size 100 GB, asked 2 min ago.`
 * @param operation the operation of both plans; undefined if this version of the server does not have it any more
 */
export function relatedText(
  other: FoundPlan,
  { args, issuedAt }: Pick<KeptPlan, 'args' | 'issuedAt'>,
  operation: Pick<Operation, 'input'> | undefined,
  now: Date,
): SafeText {
  const age = (time: number) => duration(Math.max(0, (now.getTime() - time) / 1000));
  const which = words(other.issuedAt < issuedAt ? 'Another plan' : 'A newer plan');
  const name = quoted(other.subject?.name ?? '', 100);
  const differences = differencesOf(other.args, args, operation);
  if (other.decision === undefined)
    return say`${which} for ${name} waits: ${differences}, asked ${age(other.issuedAt)} ago.`;
  return say`${which} for ${name} was accepted: ${differences}. ${sentence(say`${decisionText(other.decision)}.`)}`;
}

/** Maximum number of differences in a sentence. */
const mostDifferences = 5;

/** Describes how another plan differs, with its values of the differing arguments: `disk size 100 GB`. */
function differencesOf(other: Fields, args: Fields, operation: Pick<Operation, 'input'> | undefined): SafeText {
  const values = new Map(leavesOf(args));
  const otherValues = [...leavesOf(other)];
  const differing = otherValues.filter(([path, value]) => values.get(path) !== value);
  if (differing.length === 0)
    return words(otherValues.length === values.size ? 'the same change' : 'with fewer arguments');
  const schema = operation?.input();
  const texts = differing.slice(0, mostDifferences).map(([path, value]) => {
    const name = (schema && fieldInWords(schema, path)) ?? path;
    const text = typeof value === 'string' ? quoted(value, 40) : defined(JSON.stringify(value));
    const unit = schema && fieldUnit(schema, path);
    return say`${defined(name)} ${text}${defined(unit === undefined ? '' : ` ${unit}`)}`;
  });
  return join(texts, ', ');
}
