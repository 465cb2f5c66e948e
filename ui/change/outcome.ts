import type { ChangeOutcome, OutcomeKind } from '../../src/mcp/views/contract/change.js';
import { element } from '../shared/elements.js';

const titles: Readonly<Record<OutcomeKind, string>> = {
  accepted: 'Accepted',
  rejected: 'Refused by the cloud',
  unknown: 'The outcome is not known',
  declined: 'Nothing was done',
  expired: 'The plan has expired',
  used: 'Decided before',
  refused: 'Not sent',
};

/** An outcome for people to read. Its heading can take the focus. */
export function outcomePanel({ kind, sentence, details, requestIds, next }: ChangeOutcome): HTMLElement {
  const ids = Object.entries(requestIds).flatMap(([name, id]) => [element('dt', {}, name), element('dd', {}, id)]);
  return element(
    'section',
    { class: `outcome ${kind}` },
    element('h2', { tabindex: '-1' }, titles[kind]),
    element('p', { dir: 'auto' }, sentence),
    ...(details.length === 0
      ? []
      : [element('ul', {}, ...details.map((line) => element('li', { dir: 'auto' }, line)))]),
    ...(ids.length === 0 ? [] : [element('h3', {}, 'Request IDs'), element('dl', {}, ...ids)]),
    ...(next === undefined ? [] : [element('p', { class: 'next', dir: 'auto' }, next)]),
  );
}
