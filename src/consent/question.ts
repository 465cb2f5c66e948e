import { type Plan, type PlannedCall, withoutSecrets } from '../answers/plan.js';
import { leavesOf } from '../util/objects.js';
import { quote, spellOut } from '../util/quote.js';

/** Clients show two lines of a question, and some have 24 in all. */
const maximumLines = 8;
const maximumQuestion = 2000;
const longestValue = 80;

/**
 * The question that a person answers: the whole decision in its first line, then at most eight sentences with everything else
 * that would be sent. Long values are cut, lines never are.
 * @returns undefined if that is too much for one screen: then nobody can be asked
 */
export function questionText(plan: Plan, call: PlannedCall): string | undefined {
  const { change, input, endpoint } = call;
  const [cost, ...consequences] = plan.consequences;
  const isNamed = (path: string) => change.named.some((name) => path === name || path.startsWith(`${name}.`));
  const others = [...leavesOf(withoutSecrets(call, input))].filter(
    ([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')),
  );
  const sentence = (title: string, parts: readonly string[]) =>
    parts.length === 0 ? [] : [`${title}: ${parts.join(', ')}.`];
  const lines = [
    ...(plan.found === undefined ? [] : [plan.found]),
    ...consequences,
    ...sentence('Where', plan.where),
    ...sentence('Also', grouped(others)),
    ...sentence(
      'Defaults',
      plan.defaults.map(({ name, value }) => `${name} ${value}`),
    ),
    ...plan.warnings,
    ...sentence('Not checked', plan.notChecked),
  ];
  // Warnings share lines before anything is left out.
  const kept =
    lines.length <= maximumLines
      ? lines
      : [...lines.slice(0, maximumLines - 1), lines.slice(maximumLines - 1).join(' ')];
  const text = [`${change.headline(input, endpoint.region)}? ${cost ?? ''}`.trim(), ...kept].map(spellOut).join('\n');
  return text.length > maximumQuestion ? undefined : text;
}

/** Values under the path of the group that they are in, which is said once: `adminWorkstation (region "a", keyName "b")`. */
function grouped(leaves: readonly (readonly [string, unknown])[]): string[] {
  const groups = new Map<string, string[]>();
  for (const [path, value] of leaves) {
    const end = path.lastIndexOf('.');
    const group = path.slice(0, Math.max(end, 0));
    const shown = `${path.slice(end + 1)} ${typeof value === 'string' ? quote(value, longestValue) : JSON.stringify(value)}`;
    groups.set(group, [...(groups.get(group) ?? []), shown]);
  }
  return [...groups].map(([group, values]) => (group === '' ? values.join(', ') : `${group} (${values.join(', ')})`));
}
