import { attemptsText } from '../answers/attempts.js';
import type { Failure } from '../answers/failure.js';
import { headlineOf } from '../answers/headline.js';
import { requestLines } from '../answers/request-lines.js';
import { consentWays, type Success } from '../answers/success.js';
import { earlierText, idList, render, saidBy } from '../answers/text.js';
import { textForPerson } from '../tools/next.js';
import { words } from '../util/say.js';
import { labelled, localTime, type Page, wrapped } from './layout.js';

/** The facts of a success as a person at a terminal reads them: in words and in local time, without what is meant for models. */
export function successText(success: Success, page: Page): string {
  const { summary, account, consent, sentAt, where = [], effects = [], show, plan, answer } = success;
  const { planId, planExpires, decideAt, warnings, notes = [], requestIds, attempts = [], next } = success;
  const rows = [
    row('Effects', effects),
    row('Where', where.length > 0 || account === undefined ? where : [`account ${account}`], ', '),
    row('Consent', maybe(consent === consentWays.asked ? 'you agreed at this terminal' : consent)),
    row('Sent', maybe(timeText(sentAt, page))),
    row('Decide at', maybe(decideAt)),
    row('Plan ID', maybe(planId)),
    row('Valid until', maybe(timeText(planExpires, page))),
    row('Warnings', warnings),
    row('Earlier', notes),
    row('Next', maybe(plan === undefined ? textForPerson(next?.text ?? words('')) : undefined)),
    row('Attempts', maybe(attemptsText(attempts))),
    row('Request IDs', maybe(idList(requestIds))),
  ];
  return text([
    wrapped(summary, page.width).map((line) => page.paint('bold', line)),
    show === undefined ? [] : planLines(show, page),
    plan === undefined ? [] : [page.paint('bold', 'Request:'), ...requestLines(plan)],
    labelled(rows, page),
    answer === undefined ? [] : render({ answer }),
    // The summary may have left the screen by now.
    answer === undefined ? [] : wrapped(headlineOf(summary), page.width),
  ]);
}

/** The same of a failure: what it was, what to do, and what support asks for. */
export function failureText(failure: Failure, page: Page): string {
  // Those who said no know what they were asked.
  if (failure.code === 'Declined' && failure.status === undefined)
    return text([wrapped('Nothing was sent: you did not agree to it.', page.width)]);
  const { summary, problems, status, serviceSays, code, account, next, requestIds, attempts = [] } = failure;
  const { defaults = [], warnings = [], notes = [], earlier, mayHaveHappened } = failure;
  const rows = [
    row('Next', maybe(textForPerson(next.text))),
    row('Service says', maybe(saidBy(serviceSays))),
    row('Account', maybe(account)),
    row('Earlier call', maybe(earlierText(earlier))),
    row('Earlier', notes),
    row('Defaults', defaults),
    row('Warnings', warnings),
    row('Attempts', maybe(attemptsText(attempts))),
    row('Request IDs', maybe(idList(requestIds))),
    row('Code', [status === undefined ? code : `${code} (HTTP status ${status})`]),
  ];
  const colour = mayHaveHappened === true ? 'yellow' : 'red';
  return text([
    wrapped(summary, page.width).map((line) => page.paint(['bold', colour], line)),
    problems.flatMap((problem) => wrapped(problem, page.width, '- ')),
    labelled(rows, page),
  ]);
}

/** A plan with its sections, each line within the width. */
export const planLines = (plan: string, { width, paint }: Page): string[] =>
  plan.split('\n').flatMap((line) => {
    if (/^[A-Z][^.]*:$/.test(line)) return [paint('bold', line)];
    return line.startsWith('- ') ? wrapped(line.slice(2), width, '- ') : wrapped(line, width);
  });

const text = (blocks: readonly (readonly string[])[]) =>
  `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;

/** @param between joins texts that belong into one line */
const row = (label: string, texts: readonly string[], between?: string) =>
  [label, between === undefined || texts.length === 0 ? texts : [texts.join(between)]] as const;

const maybe = (fact: string | undefined) => (fact === undefined || fact === '' ? [] : [fact]);

const timeText = (time: string | undefined, { timeZone }: Page) =>
  time === undefined ? undefined : localTime(time, timeZone);
