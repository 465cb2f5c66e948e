import { beforeEach, describe, expect, test } from 'vitest';
import type { CallContext } from '../../src/calls/context.js';
import type { Elicitor } from '../../src/changes/elicitor.js';
import type { ConsentMode } from '../../src/changes/required-consent.js';
import { isTyped, nameToType } from '../../src/changes/typed-name.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { consentForm } from '../../src/mcp/elicitation.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** To delete something, a person types its name. */

const operation = { ...abortMultipartUpload, preflight: undefined } as unknown as Operation;
const args = { bucket: 'b', object: 'a.mov', uploadId: 'u' };

interface Given {
  readonly confirm?: ConsentMode;
  readonly confirmDelete?: 'type' | 'click';
  readonly effect?: Operation['effect'];
  readonly input?: object;
  /** In place of the real ones, of which the object is the last. */
  readonly change?: Pick<ChangeTexts, 'identifies'>;
}

function nameFor({
  confirm = 'ask',
  confirmDelete,
  effect = 'delete',
  input = args,
  change = operation.change,
}: Given) {
  if (change === undefined) throw new Error('it is a change');
  return nameToType({ operation: { effect }, change, input: { ...input }, account: { confirm, confirmDelete } });
}
const called = (object: unknown): Given => ({ input: { ...args, object } });

test.each<readonly [string, Given, string | undefined]>([
  ['is wanted in ask', { confirm: 'ask' }, 'a.mov'],
  ['is wanted in human', { confirm: 'human' }, 'a.mov'],
  ['is wanted in approval', { confirm: 'approval' }, 'a.mov'],
  ['is not wanted in plan, where nobody could type it', { confirm: 'plan' }, undefined],
  ['is not wanted in off, where nobody could type it', { confirm: 'off' }, undefined],
  ['is wanted if the settings say so', { confirmDelete: 'type' }, 'a.mov'],
  ['is not wanted if a click is enough', { confirmDelete: 'click' }, undefined],
  ['is not wanted for a change that deletes nothing', { effect: 'alter' }, undefined],
  ['is that of the last argument', { change: { identifies: ['object', 'bucket'] } }, 'b'],
  ['is the first in a list', { change: { identifies: ['keys[]'] }, input: { keys: ['one', 'two'] } }, 'one'],
  ['is the first in a list of objects', { change: { identifies: ['all[].key'] }, input: { all: [{ key: 'k' }] } }, 'k'],
  ['is not wanted if the list has none', { change: { identifies: ['keys[]'] }, input: { keys: [] } }, undefined],
  ['is not wanted if no argument has it', { change: { identifies: [] } }, undefined],
  ['is not wanted if the operation does not say which argument has it', { change: {} }, undefined],
  ['is not wanted if its argument is absent', { input: {} }, undefined],
  ['is not wanted if its argument is no text', called(7), undefined],
  ['is not wanted if it is empty', called(''), undefined],
  ['is not wanted if it has only spaces', called('  '), undefined],
  ['is wanted without the spaces around it', called(' a.mov '), 'a.mov'],
  ['is wanted with 40 characters', called('x'.repeat(40)), 'x'.repeat(40)],
  ['is not wanted with 41 characters', called('x'.repeat(41)), undefined],
  ['is not wanted with an invisible character', called('a\u200bb'), undefined],
])('the name %s', (_what, given, expected) => {
  expect(nameFor(given)).toBe(expected);
});

test.each<readonly [string | undefined, string | undefined, boolean]>([
  ['a', 'a', true],
  ['a', ' a ', true],
  ['a', 'A', false],
  ['a', 'ab', false],
  ['a', '', false],
  ['a', undefined, false],
  [undefined, undefined, true],
  [undefined, 'a', true],
])('if %j is wanted, %j agrees: %s', (wanted, typed, agrees) => {
  expect(isTyped(wanted, typed)).toBe(agrees);
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
