import { beforeEach, describe, expect, test } from 'vitest';
import type { CallContext } from '../../src/calls/context.js';
import type { Elicitor } from '../../src/consent/elicitor.js';
import type { ConsentMode } from '../../src/consent/required-consent.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { isTyped, nameToType } from '../../src/consent/typed-name.js';
import { consentForm } from '../../src/mcp/elicitation.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** To delete something, a person types its name. */

const operation = { ...abortMultipartUpload, preflight: undefined } as unknown as Operation;
const args = { bucket: 'b', object: 'a.mov', uploadId: 'u' };
const { change } = operation;
const nameOf = (
  confirm: ConsentMode,
  input: object = args,
  confirmDelete?: 'click',
  effect: Operation['effect'] = 'delete',
) => change && nameToType({ operation: { effect }, change, input: { ...input }, account: { confirm, confirmDelete } });

test.each<readonly [string, string | undefined, string | undefined]>([
  ['in ask', nameOf('ask'), 'a.mov'],
  ['in human', nameOf('human'), 'a.mov'],
  ['in approval', nameOf('approval'), 'a.mov'],
  ['in plan', nameOf('plan'), undefined],
  ['in off', nameOf('off'), undefined],
  ['where a click is set', nameOf('ask', args, 'click'), undefined],
  ['for a change that deletes nothing', nameOf('ask', args, undefined, 'alter'), undefined],
  ['of 40 characters', nameOf('ask', { ...args, object: 'x'.repeat(40) }), 'x'.repeat(40)],
  ['of 41 characters', nameOf('ask', { ...args, object: 'x'.repeat(41) }), undefined],
  ['with an invisible character', nameOf('ask', { ...args, object: 'a\u200bb' }), undefined],
])('the name %s', (_what, name, expected) => {
  expect(name).toBe(expected);
});

test('spaces around a typed name do not matter, and its case does', () => {
  expect([isTyped('a', ' a '), isTyped('a', 'A'), isTyped('a', undefined), isTyped(undefined, undefined)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test('the form has a field for the name only if it has to be typed', () => {
  expect(consentForm({ name: 'any' }, 'Abort', 'a.mov').properties).toHaveProperty(
    'name.description',
    'Type "a.mov" to agree.',
  );
  expect(consentForm({ name: 'any' }, 'Create').properties).not.toHaveProperty('name');
});

test('the form has a field for a reason, but not in Codex, which submits no form with an empty field', () => {
  const fieldsFor = (name: string) => Object.keys(consentForm({ name }, 'Create').properties);
  expect(fieldsFor('claude-code 2.1.330')).toEqual(['decision', 'reason']);
  expect(fieldsFor('codex-mcp-client 0.169.0')).toEqual(['decision']);
});

describe('a call', () => {
  let time = 0;
  beforeEach(() => {
    time = Date.parse('2026-11-21T12:00:00Z');
  });
  const now = () => new Date(time);
  const tokens = createConsentTokens(() => ['k'.repeat(32)], '', now);
  function setUp() {
    const { openClient, requests } = scriptedClient(async () => answered(204, ''));
    const journal = createMemoryJournal(now);
    const policy = { readOnly: false, tools: undefined, extensions: ['s3'] };
    const { carryOut } = testCaller('http://127.0.0.1:1', { confirm: 'human', openClient, journal, now, policy });
    const call = (context: Partial<CallContext>) =>
      carryOut(operation, args, { tokens, client: 'test 1', signal: never, ...context });
    return { call, journal, requests };
  }

  test('asks again after a wrong name, which is no refusal', async () => {
    const { call, journal, requests } = setUp();
    const asked: string[] = [];
    const elicitor: Elicitor = {
      ask: async (message, _accept, _over, typedName) => {
        time += 3000;
        asked.push(message.text);
        expect(typedName).toBe('a.mov');
        return { kind: asked.length < 3 ? 'wrongName' : 'agreed' };
      },
    };
    expect(await call({ elicitor })).toMatchObject({ success: { outcome: 'accepted' } });
    expect(asked.map((text) => text.startsWith('That is not the name. '))).toEqual([false, true, true]);
    expect(await journal.list({})).toHaveLength(1);
    expect(requests).toHaveLength(1);
  });

  test('ends after five wrong names, and nothing is recorded as refused', async () => {
    const { call, journal, requests } = setUp();
    const elicitor: Elicitor = { ask: async () => ({ kind: 'wrongName' }) };
    expect(await call({ elicitor })).toMatchObject({ failure: { code: 'WrongName', mayHaveHappened: false } });
    expect([await journal.list({}), requests]).toEqual([[], []]);
  });

  test('by a click needs the name; without it, the plan still waits', async () => {
    const { call, requests } = setUp();
    const planned = await call({ hasView: true });
    const view = planned.kind === 'succeeded' && planned.view?.kind === 'plan' ? planned.view : undefined;
    if (view?.claims === undefined) throw new Error('there is no plan to click on');
    expect(view.typedName).toBe('a.mov');
    time += 3000;
    const claims = { ...view.claims, issuedAt: view.issuedAt };
    const click = (typedName?: string) => call({ click: { decision: 'accept', claims, typedName } });
    for (const wrong of [undefined, '', 'b.mov'])
      expect(await click(wrong)).toMatchObject({ failure: { code: 'WrongName' } });
    expect(requests).toEqual([]);
    expect(await click('a.mov')).toMatchObject({ success: { outcome: 'accepted' } });
  });
});
