import type { CallOutcome } from '../../src/calls/outcome.js';
import type { Announcement, DecisionPage } from '../../src/changes/required-consent.js';

export type Page = 'none' | DecisionPage['kind'];

/** A page for decisions, and what people learn of the plans on it. */
export function pageOf(page: Page) {
  const shown: (Announcement | 'in the browser')[] = [];
  const pages: Readonly<Record<Page, DecisionPage | undefined>> = {
    none: undefined,
    signIn: {
      kind: 'signIn',
      addressOf: (id) => `https://cloudops.example.com/decisions/${id}/`,
      announce: (announcement) => shown.push({ ...announcement, decideAt: '…' }),
    },
    local: { kind: 'local', show: () => shown.push('in the browser') },
  };
  return { shown, given: pages[page] };
}

/** The words and the facts of an outcome, without the plan and without what each change has of its own. */
export function told(outcome: CallOutcome): string {
  if (outcome.kind === 'inputRequired') throw new Error('a question');
  const {
    plan: _,
    show: __,
    next,
    summary,
    warnings = [],
    requestIds,
    ...facts
  } = outcome.kind === 'succeeded' ? outcome.success : { plan: 0, show: '', ...outcome.failure };
  const ids = Object.keys(requestIds).length === 0 ? {} : { requestIds };
  const line = JSON.stringify({ ...facts, ...ids })
    .replace(/"changeId":"[\w-]{22}"/, '"changeId":"…"')
    .replace(/decisions\/[\w-]{22}\//, 'decisions/…/');
  const { who, action, text } = next ?? { who: '', action: '', text: '' };
  return [summary, ...warnings, `${who} (${action}): ${text}`, line].join('\n');
}
