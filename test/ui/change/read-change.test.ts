import { expect, test } from 'vitest';
import { changeKey, outcomeKey, type ProposedChange } from '../../../src/mcp/views/view-contract.js';
import { readOutcome, readProposedChange } from '../../../ui/change/read-change.js';

const change: ProposedChange = {
  sentence: 'Create DevOps server "wiki"?',
  risks: ['costs money'],
  isSandbox: true,
  where: ['region jp-east-1 (given)'],
  effects: ['It costs money from its creation.'],
  warnings: ['It was sent at 2026-11-20T11:30:00.000Z.'],
  notChecked: ['that the backup exists'],
  defaults: [{ name: 'server type', value: 'e-large' }],
  tables: [{ title: 'Node pools', columns: ['Name', 'Number of nodes'], rows: [['"workers"', '2']], more: 3 }],
  request: 'POST https://devops.example/v1/instances:restore',
  issuedAt: '2026-11-20T12:00:00.000Z',
  expiresAt: '2026-11-20T12:10:00.000Z',
  accept: 'Create server wiki',
  decline: 'Do nothing',
  ticket: 'AAAAAAAAAAAAAAAAAAAAAA',
  otherWays: ['Say yes in the chat.'],
};

test('a change comes back as it was written, through JSON', () => {
  expect(readProposedChange(JSON.parse(JSON.stringify({ [changeKey]: change })))).toEqual(change);
});

test('what is not of its kind is left out', () => {
  const odd = {
    ...change,
    risks: ['costs money', 'fun'],
    defaults: ['x', { name: 'a' }, ...change.defaults],
    where: 7,
  };
  expect(readProposedChange({ [changeKey]: odd })).toEqual({ ...change, where: [] });
});

test.each(['sentence', 'accept', 'decline', 'expiresAt'])('a change without %s cannot be decided on', (field) => {
  expect(readProposedChange({ [changeKey]: { ...change, [field]: undefined } })).toBeUndefined();
});

test('an expiry that is no time is no expiry', () => {
  expect(readProposedChange({ [changeKey]: { ...change, expiresAt: 'later' } })).toBeUndefined();
});

test('an outcome comes back as it was written; what is not text is left out', () => {
  const outcome = {
    kind: 'accepted',
    sentence: 'Accepted.',
    details: ['a', 1, ['at '], null],
    requestIds: { id: 'x', other: 7 },
    next: 'Wait.',
    sentAt: '2026-11-20T12:00:00.000Z',
    code: 'X',
    earlier: 'An earlier decision stands.',
  };
  expect(readOutcome({ [outcomeKey]: outcome })).toEqual({
    ...outcome,
    details: ['a'],
    requestIds: { id: 'x' },
    isSandbox: false,
    isOfPlan: false,
  });
});

test.each([undefined, null, 'text', [], {}, { [outcomeKey]: { kind: 'done', sentence: 'Done.' } }])(
  'there is no outcome in %j',
  (meta) => {
    expect(readOutcome(meta)).toBeUndefined();
  },
);
