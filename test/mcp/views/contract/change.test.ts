import { expect, test } from 'vitest';
import { changeKey, outcomeKey, readOutcome, readProposedChange } from '../../../../src/mcp/views/contract/change.js';

const change = {
  sentence: 'Create DevOps server "wiki"?',
  effects: ['It costs money from its creation.'],
  warnings: [],
  defaults: ['instanceType: e-large'],
  request: 'POST https://devops.example/v1/instances:restore',
  expiresAt: '2026-11-20T12:10:00.000Z',
  accept: 'Create server wiki',
  decline: 'Do nothing',
  ticket: 'AAAAAAAAAAAAAAAAAAAAAA',
};

test('a change comes back as it was written, through JSON', () => {
  expect(readProposedChange(JSON.parse(JSON.stringify({ [changeKey]: change })))).toEqual(change);
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
    details: ['a', 1],
    requestIds: { id: 'x', other: 7 },
    next: 'Wait.',
  };
  expect(readOutcome({ [outcomeKey]: outcome })).toEqual({ ...outcome, details: ['a'], requestIds: { id: 'x' } });
});

test.each([undefined, null, 'text', [], {}, { [outcomeKey]: { kind: 'done', sentence: 'Done.' } }])(
  'there is no outcome in %j',
  (meta) => {
    expect(readOutcome(meta)).toBeUndefined();
  },
);
