import type { Operation } from '../tools/define-operation.js';
import { digestOf } from '../util/digest.js';
import { fieldInWords, fieldUnit } from '../util/field-names.js';
import { leavesOf, textsAt, valueAt } from '../util/objects.js';
import { defined, duration, join, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Change, State, Subject } from './change.js';

/** This file describes other changes of a caller that matter to a plan. */

type Fields = Readonly<Record<string, unknown>>;

/** Returns the thing that a change is about; undefined if the operation does not say which arguments identify it. */
export function subjectOf({ name: tool, change }: Operation, account: string, input: Fields): Subject | undefined {
  const values = (change?.identifies ?? []).map((path) =>
    path.includes('[]') ? textsAt(input, path) : valueAt(input, path),
  );
  // The last identifying argument is the name of the thing.
  const name = values.at(-1);
  return typeof name === 'string' ? { name, digest: digestOf([tool, account, values]) } : undefined;
}

const deeds: Readonly<Record<State, SafeText>> = {
  waiting: words('waits'),
  approved: words('was approved'),
  begun: words('is being sent'),
  accepted: words('was accepted'),
  partly: words('was accepted in part'),
  rejected: words('was rejected'),
  'not sent': words('was not sent'),
  unknown: words('ended unknown'),
  declined: words('was declined'),
  withdrawn: words('was withdrawn'),
};

const beginnings: Readonly<Partial<Record<State, SafeText>>> = { waiting: words('made '), begun: words('approved ') };

/** Describes another change beside a plan: `Another plan for "wiki" waits (disk size 100 GB), made 2 min ago.` */
export function otherChangeText(
  other: Pick<Change, 'tool' | 'args' | 'subject' | 'state' | 'madeAt' | 'decidedAt' | 'endedAt'>,
  plan: { readonly args: Fields; readonly subject?: Subject | undefined },
  operation: Pick<Operation, 'input'> | undefined,
  now: Date,
): SafeText {
  const { args, subject, state, madeAt, decidedAt, endedAt } = other;
  const at = state === 'waiting' ? madeAt : (endedAt ?? decidedAt ?? madeAt);
  const beginning = beginnings[state];
  const when = say`${beginning ?? words('')}${duration(Math.max(0, (now.getTime() - at) / 1000))} ago`;
  const deed = deeds[state];
  if (subject !== undefined && subject.digest === plan.subject?.digest)
    return say`Another plan for ${nameOf(subject)} ${deed} (${differencesOf(args, plan.args, operation)}), ${when}.`;

  const which = subject === undefined ? words('') : say` for ${nameOf(subject)}`;
  const own = plan.subject === undefined ? words('') : say`, ${nameOf(plan.subject)}`;
  const separator = words(beginning === undefined ? ' ' : ', ');
  return say`The same operation${which} ${deed}${separator}${when}; this would be another one${own}.`;
}

const nameOf = ({ name }: Subject) => quoted(name, 100);

const mostDifferences = 5;

/** The other plan's values of the differing arguments. */
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
