import { attemptsText, earlierText, idList, render, saidBy } from '../calls/result-text.js';
import { consentWays, type Failure, type Success } from '../consent/outcome.js';
import { type Plan, planParts } from '../consent/plan.js';
import { requestLines } from '../consent/request-lines.js';
import type { Operation } from '../tools/define-operation.js';
import { fieldUnit } from '../util/field-names.js';
import {
  exact,
  join,
  own,
  type SafeText,
  say,
  textFor,
  time,
  type Wording,
  withTimes,
  words,
} from '../util/safe-text.js';
import { answerLines } from './answer-layout.js';
import { labelled, type TextLayout, tableLines, wrapped } from './layout.js';

/**
 * Formats a success for a person at a terminal: in words, human units and local time, without the texts for models.
 * @param operation its schema names the units of numbers in the answer
 * @param showsAll true for `--all`, which shows every field of the answer, with the cloud's own names and units
 */
export function successText(
  success: Success,
  operation: Pick<Operation, 'output'> | undefined,
  layout: TextLayout,
  showsAll: boolean,
): string {
  const { summary, plan, answer } = success;
  const answerBlock = () => {
    if (answer === undefined) return [];
    // Every field, indented below the line `answer:`.
    if (showsAll) return render({ answer });
    const unitOf = (path: string) => operation && fieldUnit(operation.output(), path);
    return answerLines(answer, { ...layout, unitOf });
  };

  return joinBlocks([
    paragraph(summary, layout).map((line) => layout.paint('bold', line)),
    plan === undefined ? [] : planLines(plan, layout),
    // A plan has the method, URL, headers and body of its request.
    plan === undefined ? [] : [layout.paint('bold', 'Request:'), ...requestLines(plan).map((line) => line.text)],
    answerBlock(),
    factLines(successFacts(success), layout),
  ]);
}

function successFacts(success: Success): Row[] {
  const { account, consent, sentAt, where = [], effects = [], plan, planId, planExpires, decideAt } = success;
  const { warnings, notes: notesOnEarlierCalls = [], requestIds, attempts = [], next } = success;

  // An accepted change has `where`, which includes the account. Any other result has at most the account.
  const places = where.length > 0 || account === undefined ? where : [say`account ${own(account)}`];
  // `consentWays.asked` names the user of an MCP client. Here, the person at this terminal agreed. A success has the consent only in words, so
  // the words are compared.
  const wasAsked = consent?.text === consentWays.asked;
  const consentText = wasAsked ? words('you agreed at this terminal') : consent;
  // A plan's next step tells an agent how to go on, which does not concern a person at a terminal.
  const nextStep = plan === undefined && next !== undefined ? textFor('operator', next.text) : undefined;

  return [
    row('Effects', effects),
    row('Where', join(places, ', ')),
    row('Consent', consentText),
    row('Sent', sentAt === undefined ? undefined : time(sentAt)),
    row('Decide at', decideAt === undefined ? undefined : exact(decideAt)),
    row('Plan ID', planId === undefined ? undefined : exact(planId)),
    row('Valid until', planExpires === undefined ? undefined : time(planExpires)),
    row('Warnings', warnings),
    row('Earlier', notesOnEarlierCalls),
    row('Next', nextStep),
    row('Attempts', attemptsText(attempts)),
    row('Request IDs', idList(requestIds)),
  ];
}

/** Formats a failure for a person at a terminal: the problem, the next step, and the facts that support asks for. */
export function failureText(failure: Failure, layout: TextLayout): string {
  // This person has just read the plan and declined it. With an HTTP status, the code "Declined" would be one of the cloud's own.
  if (failure.code === 'Declined' && failure.status === undefined)
    return joinBlocks([wrapped('Nothing was sent: you did not agree to it.', layout.width)]);

  const { summary, problems, status, serviceSays, code, account, next, requestIds, attempts = [] } = failure;
  const { defaults = [], warnings = [], notes: notesOnEarlierCalls = [], earlier: repeatedCall } = failure;

  const rows = [
    row('Next', textFor('operator', next.text)),
    row('Cloud says', saidBy(serviceSays)),
    row('Account', account === undefined ? undefined : own(account)),
    row('Earlier call', earlierText(repeatedCall)),
    row('Earlier', notesOnEarlierCalls),
    row('Defaults', defaults),
    row('Warnings', warnings),
    row('Attempts', attemptsText(attempts)),
    row('Request IDs', idList(requestIds)),
    row('Code', status === undefined ? own(code) : say`${own(code)} (HTTP status ${status})`),
  ];

  // Red stands for a failure that is certain.
  const colour = failure.mayHaveHappened === true ? 'yellow' : 'red';
  return joinBlocks([
    paragraph(summary, layout).map((line) => layout.paint(['bold', colour], line)),
    problems.flatMap((problem) => paragraph(problem, layout, '- ')),
    factLines(rows, layout),
  ]);
}

/** The lines of a plan, for display above the question. The headline and the cautions come last, so that a small screen still shows them. */
export function planForQuestion(plan: Plan, layout: TextLayout): string[] {
  const { headline, cautions, details } = planParts(plan);
  return [
    ...detailLines(details, layout),
    ...tablesOf(plan, layout),
    '',
    ...headLines(headline, cautions, plan, layout),
  ];
}

function planLines(plan: Plan, layout: TextLayout): string[] {
  const { headline, cautions, details } = planParts(plan);
  return [...headLines(headline, cautions, plan, layout), ...detailLines(details, layout), ...tablesOf(plan, layout)];
}

const tablesOf = ({ tables = [] }: Plan, layout: TextLayout): string[] =>
  tables.flatMap(({ title, columns, rows, more }) => [
    '',
    layout.paint('bold', `${title}:`),
    ...tableLines([columns, ...rows], layout.width),
    ...(more === 0 ? [] : [`and ${more} more`]),
  ]);

/** The headline in bold, and the cautions in yellow, or in red if the change cannot be undone. */
const headLines = (headline: SafeText, cautions: readonly SafeText[], plan: Plan, layout: TextLayout): string[] => {
  const colour = plan.risks.includes('no way back') ? 'red' : 'yellow';
  return [
    ...paragraph(headline, layout).map((line) => layout.paint('bold', line)),
    ...cautions.flatMap((caution) => paragraph(caution, layout)).map((line) => layout.paint(['bold', colour], line)),
  ];
};

/** The lines of a plan's sections. A line such as `What will happen:` is a heading and becomes bold. Long lines are broken. */
const detailLines = (details: readonly SafeText[], layout: TextLayout): string[] =>
  details.flatMap((line) => {
    if (/^[A-Z][^.]*:$/.test(line.text)) return [layout.paint('bold', line.text)];
    return wrapped(inLocalTime(line, layout), layout.width, { start: 0, indent: line.text.startsWith('- ') ? 2 : 0 });
  });

/** Joins blocks of lines, with an empty line between two blocks. Leaves out empty blocks. */
function joinBlocks(blocks: readonly (readonly string[])[]): string {
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

type Row = readonly [label: SafeText, texts: readonly SafeText[]];

/** Pairs a label with its texts, each of which is printed on its own line. Leaves out empty texts. */
function row<const Label extends string>(
  label: Wording<Label>,
  texts: SafeText | readonly SafeText[] | undefined,
): Row {
  const given = texts === undefined ? [] : [texts].flat();
  return [words(label), given.filter(({ text }) => text !== '')];
}

const inLocalTime = (text: SafeText, { localTime }: TextLayout): SafeText =>
  withTimes(text, (time) => localTime(time) ?? words(''));

const paragraph = (text: SafeText, layout: TextLayout, start: '- ' | 0 = 0) =>
  wrapped(inLocalTime(text, layout), layout.width, { start });

/** Formats rows in two columns, with times in the reader's time zone. */
const factLines = (rows: readonly Row[], layout: TextLayout) =>
  labelled(
    rows.map(([label, texts]) => [label, texts.map((text) => inLocalTime(text, layout))] as const),
    layout,
  );
