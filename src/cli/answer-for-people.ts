import { attemptsText, earlierText, idList, render, saidBy } from '../calls/result-text.js';
import type { Failure } from '../consent/outcome.js';
import { consentWays, type Success } from '../consent/outcome.js';
import { type Plan, planParts } from '../consent/plan.js';
import { requestLines } from '../consent/request-lines.js';
import type { Operation } from '../tools/define-operation.js';
import { fieldUnit } from '../tools/schema/field-names.js';
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
import { type HelpPage, labelled, localTime, tableLines, wrapped } from './layout.js';

/**
 * Formats a success for a person at a terminal: in words, human units and local time, without the texts for models.
 * @param operation has the units of the answer
 * @param isRaw shows the answer with the cloud's own fields and units
 */
export function successText(
  success: Success,
  operation: Pick<Operation, 'output'> | undefined,
  page: HelpPage,
  isRaw: boolean,
): string {
  const { summary, account, consent, sentAt, where = [], effects = [], plan, answer } = success;
  const { planId, planExpires, decideAt, warnings, notes = [], requestIds, attempts = [], next } = success;
  const answerInWords = (fields: Readonly<Record<string, unknown>>) => {
    if (isRaw) return render({ answer: fields });
    return answerLines(fields, { ...page, unitOf: (path) => operation && fieldUnit(operation.output(), path) });
  };
  const rows = [
    row('Effects', effects),
    row('Where', where.length > 0 || account === undefined ? where : [say`account ${own(account)}`], ', '),
    row('Consent', maybe(consent?.text === consentWays.asked ? words('you agreed at this terminal') : consent)),
    row('Sent', sentAt === undefined ? [] : [time(sentAt)]),
    row('Decide at', maybe(copied(decideAt))),
    row('Plan ID', maybe(copied(planId))),
    row('Valid until', planExpires === undefined ? [] : [time(planExpires)]),
    row('Warnings', warnings),
    row('Earlier', notes),
    row('Next', maybe(plan === undefined ? textFor('operator', next?.text ?? words('')) : undefined)),
    row('Attempts', maybe(attemptsText(attempts))),
    row('Request IDs', maybe(idList(requestIds))),
  ];
  return text([
    paragraph(summary, page).map((line) => page.paint('bold', line)),
    // The expiry of the plan is in the row "Valid until" below.
    plan === undefined ? [] : planLines(plan, page),
    plan === undefined ? [] : [page.paint('bold', 'Request:'), ...requestLines(plan).map((line) => line.text)],
    answer === undefined ? [] : answerInWords(answer),
    facts(rows, page),
  ]);
}

/** Formats a failure for a person at a terminal: the problem, the next step, and the facts that support asks for. */
export function failureText(failure: Failure, page: HelpPage): string {
  // The person who declined has just read the plan.
  if (failure.code === 'Declined' && failure.status === undefined)
    return text([wrapped('Nothing was sent: you did not agree to it.', page.width)]);
  const { summary, problems, status, serviceSays, code, account, next, requestIds, attempts = [] } = failure;
  const { defaults = [], warnings = [], notes = [], earlier, mayHaveHappened } = failure;
  const rows = [
    row('Next', maybe(textFor('operator', next.text))),
    row('Cloud says', maybe(saidBy(serviceSays))),
    row('Account', maybe(account === undefined ? undefined : say`${own(account)}`)),
    row('Earlier call', maybe(earlierText(earlier))),
    row('Earlier', notes),
    row('Defaults', defaults),
    row('Warnings', warnings),
    row('Attempts', maybe(attemptsText(attempts))),
    row('Request IDs', maybe(idList(requestIds))),
    row('Code', [status === undefined ? say`${own(code)}` : say`${own(code)} (HTTP status ${status})`]),
  ];
  const colour = mayHaveHappened === true ? 'yellow' : 'red';
  return text([
    paragraph(summary, page).map((line) => page.paint(['bold', colour], line)),
    problems.flatMap((problem) => paragraph(problem, page, '- ')),
    facts(rows, page),
  ]);
}

/** The lines of a plan above its question. The headline and the risk come last, so that a small screen still shows them. */
export function planForQuestion(plan: Plan, page: HelpPage): string[] {
  const { headline, risks, details } = planParts(plan);
  return [...detailLines(details, page), ...tablesOf(plan, page), '', ...headLines(headline, risks, plan, page)];
}

function planLines(plan: Plan, page: HelpPage): string[] {
  const { headline, risks, details } = planParts(plan);
  return [...headLines(headline, risks, plan, page), ...detailLines(details, page), ...tablesOf(plan, page)];
}

const tablesOf = ({ tables = [] }: Plan, page: HelpPage): string[] =>
  tables.flatMap(({ title, columns, rows, more }) => [
    '',
    page.paint('bold', `${title}:`),
    ...tableLines([columns, ...rows], page.width),
    ...(more === 0 ? [] : [`and ${more} more`]),
  ]);

/** The headline in bold, and the risks in the colour of a warning, or in red if the change cannot be undone. */
const headLines = (headline: SafeText, risks: readonly SafeText[], plan: Plan, page: HelpPage): string[] => {
  const colour = plan.risks.includes('no way back') ? 'red' : 'yellow';
  return [
    ...paragraph(headline, page).map((line) => page.paint('bold', line)),
    ...risks.flatMap((risk) => paragraph(risk, page)).map((line) => page.paint(['bold', colour], line)),
  ];
};

/** The sections of a plan, each line within the width. */
const detailLines = (details: readonly SafeText[], page: HelpPage): string[] =>
  details.flatMap((line) => {
    if (/^[A-Z][^.]*:$/.test(line.text)) return [page.paint('bold', line.text)];
    return wrapped(inLocalTime(line, page), page.width, 0, line.text.startsWith('- ') ? 2 : 0);
  });

const text = (blocks: readonly (readonly string[])[]) =>
  `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;

/** @param between joins the texts into one line; by default, each text has a line of its own */
const row = <const Label extends string>(label: Wording<Label>, texts: readonly SafeText[], between?: ', ') =>
  [words(label), between === undefined || texts.length === 0 ? texts : [join(texts, between)]] as const;

const maybe = (fact: SafeText | undefined) => (fact === undefined || fact.text === '' ? [] : [fact]);

const copied = (value: string | undefined) => (value === undefined ? undefined : say`${exact(value)}`);

const inLocalTime = (text: SafeText, { timeZone }: HelpPage): SafeText =>
  withTimes(text, (time) => localTime(new Date(time), timeZone) ?? words(''));

const paragraph = (text: SafeText, page: HelpPage, first: '- ' | 0 = 0) =>
  wrapped(inLocalTime(text, page), page.width, first);

const facts = (rows: readonly ReturnType<typeof row>[], page: HelpPage) =>
  labelled(
    rows.map(([label, texts]) => [label, texts.map((text) => inLocalTime(text, page))] as const),
    page,
  );
