import { withShortNames } from '../answers/headline.js';
import { type Plan, type PlannedCall, type Risk, withoutSecrets } from '../answers/plan.js';
import { sentenceCase, sentences } from '../util/human.js';
import { leavesOf } from '../util/objects.js';
import { quote, spellOut } from '../util/quote.js';

/** Some clients have 24 lines in all. */
const maximumLines = 9;
const maximumQuestion = 2000;
const longestValue = 80;
/** Some clients show no more than three lines, cut to the width of a terminal, and nothing that unfolds them. */
const longestLine = 70;

/**
 * The question that a person answers. Its first lines are the decision, short enough to be seen everywhere: what, the risk, and where.
 * Then comes everything that would be sent, in full; it has nine lines at most. Long values are cut, lines never are.
 * @returns undefined if that is too much for one screen: then nobody can be asked
 */
export function questionText(plan: Plan, call: PlannedCall): string | undefined {
  const { change, input, endpoint } = call;
  const isNamed = (path: string) => change.named.some((name) => path === name || path.startsWith(`${name}.`));
  const others = [...leavesOf(withoutSecrets(call, input))].filter(
    ([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')),
  );
  const sentence = (title: string, parts: readonly string[]) =>
    parts.length === 0 ? [] : [`${title}: ${parts.join(', ')}.`];
  const headline = spellOut(change.headline(input, endpoint.region));
  const whole = withShortNames(headline);
  const brief = whole.length < longestLine ? whole : spellOut(change.brief?.(input, endpoint.region) ?? headline);
  const what = fitted(brief, longestLine - 1);
  const risks = plan.risks.map((risk) => riskSentences[risk]);
  const lines = [
    ...(what === headline ? [] : [`${headline}.`]),
    ...(plan.found === undefined ? [] : [plan.found]),
    ...plan.consequences.filter((one) => !risks.includes(one)),
    ...sentence('Where', plan.where),
    ...sentence('Also', grouped(others)),
    ...sentence(
      'Defaults',
      plan.defaults.map(({ name, value }) => `${name} ${value}`),
    ),
    ...plan.warnings,
    ...sentence('Not checked', plan.notChecked),
  ];
  const decision = [`${what}?`, ...sentences(risks.length > 0 && risks.join(' ')), whereLine(plan.where)];
  // Warnings share lines before anything is left out.
  const room = maximumLines - decision.length;
  const kept = lines.length <= room ? lines : [...lines.slice(0, room - 1), lines.slice(room - 1).join(' ')];
  const text = [...decision, ...kept].map(spellOut).join('\n');
  return text.length > maximumQuestion ? undefined : text;
}

/** As much of a sentence as so many characters hold: with short names, without remarks in brackets, without its last parts, or else cut. */
function fitted(text: string, limit: number): string {
  const short = withShortNames(text);
  if (short.length <= limit) return short;
  let left = short.replace(/ \([^()"]*\)/g, '');
  for (let less = left; left.length > limit; left = less) {
    less = left.replace(lastPart, '$1');
    if (less === left) return `${left.slice(0, limit - 1)}…`;
  }
  return left;
}

/** From a preposition or a mark on; names in quotation marks are not looked into. */
const lastPart = /^(.+)(?:[:,]| (?:from|to|of|in|on|at|and|with|for))(?: (?:"(?:[^"\\]|\\.)*"|[^ "]+))+$/;

const riskSentences: Readonly<Record<Risk, string>> = {
  'costs money': 'It costs money.',
  'no way back': 'There is no way back.',
};

/** Where it goes, without where that comes from: `Region jp-east-1, zone east-11, account default.` The account is never left out. */
function whereLine(where: readonly string[]): string {
  const bare = where.map((part) => spellOut(part).replace(/ \([^()]*\)/g, ''));
  const account = bare.find((part) => part.startsWith(ofAccount)) ?? '';
  const name = account.slice(ofAccount.length);
  const shown = name.length > longestName ? `${ofAccount}${name.slice(0, longestName - 1)}…` : account;
  const places = bare.filter((part) => part !== account).join(', ');
  const parts = [fitted(places, longestLine - shown.length - 3), shown].filter((part) => part !== '');
  return `${sentenceCase(parts.join(', '))}.`;
}

const ofAccount = 'account ';
/** Of an account, in characters. */
const longestName = 24;

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
