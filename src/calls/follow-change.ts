import { withoutSecrets } from '../consent/plan.js';
import { forAgent } from '../tools/next.js';
import { valueAt } from '../util/objects.js';
import { defined, join, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { ResolvedChange } from './stages.js';

/**
 * Describes the call of the read that shows the progress of a change: `get_instance with InstanceId "wiki"`. Returns undefined if the change
 * has no such read, if the caller may not use the read, or if an argument is not known.
 * @param record the record of the answer, if there is one
 */
export function followingRead(call: ResolvedChange, record?: unknown): SafeText | undefined {
  const { operation, followTool } = call;
  const { follow } = operation;
  const input = withoutSecrets(call, call.input);
  if (follow === undefined || followTool === undefined) return undefined;
  const values = Object.entries(follow.arguments).map(
    ([name, path]) => [name, valueAt({ input, answer: record }, path)] as const,
  );
  if (values.some(([, value]) => value === undefined)) return undefined;
  const given = values.map(
    ([name, value]) =>
      say`${own(name)} ${typeof value === 'string' ? quoted(value, 200) : defined(JSON.stringify(value))}`,
  );
  const withArguments = given.length === 0 ? words('') : say` with ${join(given, ', ')}`;
  return say`${own(followTool)}${withArguments}`;
}

/** `It is finished when Instance.State is "RUNNING".`, or empty text if the change does not say it. */
export function doneSentence({ operation: { follow } }: ResolvedChange): SafeText {
  const fields = Object.entries(follow?.done ?? {}).map(([path, value]) => say`${own(path)} is ${quoted(value, 100)}`);
  return fields.length === 0 ? words('') : say` It is finished when ${listed(fields)}${forAgent(' in its answer')}.`;
}
