import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import type { Elicitor } from '../../src/changes/elicitor.js';
import { isTyped, nameToType } from '../../src/changes/typed-name.js';
import { consentForm } from '../../src/mcp/elicitation.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { accepted, changer, failed } from '../support/changer.js';
import { answered } from '../support/scripted-client.js';

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
  const setUp = () => {
    const policy = { readOnly: false, tools: undefined, extensions: ['s3'] };
    const session = changer({ operation, operations: [operation], policy, reply: async () => answered(204, '') });
    const states = async () => (await session.journal()).map(({ state }) => state);
    return { ...session, states };
  };

  test('asks again after a wrong name, which is no refusal', async () => {
    const { call, clock, states, requests } = setUp();
    const asked: string[] = [];
    const elicitor: Elicitor = {
      ask: async (message, _accept, _over, typedName) => {
        clock.time += 3000;
        asked.push(message.text);
        expect(typedName).toBe('a.mov');
        return { kind: asked.length < 3 ? 'wrongName' : 'agreed' };
      },
    };
    expect(await call(args, { elicitor })).toMatchObject(accepted);
    expect(asked.map((text) => text.startsWith('That is not the name. '))).toEqual([false, true, true]);
    expect(await states()).toEqual(['accepted']);
    expect(requests).toHaveLength(1);
  });

  test('ends after five wrong names: its plan is withdrawn, and nobody has refused', async () => {
    const { call, personOf, states, store, requests } = setUp();
    const { elicitor, asked } = personOf('wrongName');
    expect(await call(args, { elicitor })).toMatchObject(failed('WrongName'));
    expect(asked).toHaveLength(5);
    expect([await states(), await store.declined({}), requests]).toEqual([['withdrawn'], [], []]);
  });

  test('whose second call brings a wrong name asks again, with the same proof', async () => {
    const { call, personOf, clock, requests } = setUp();
    const { elicitor } = personOf('later');
    let question = await call(args, { elicitor });
    for (const kind of ['wrongName', 'wrongName', 'agreed'] as const) {
      clock.time += 3000;
      if (question.kind !== 'inputRequired') throw new Error(`the call ended as ${question.kind}`);
      const { state: proof } = question;
      const brought = { kind: 'answer', proof, responseTo: () => ({ kind }), visit: 'cancelled' } as const;
      const next = await call(args, { elicitor, brought });
      if (kind === 'wrongName')
        expect(next).toMatchObject({ state: proof, message: expect.stringMatching(/^That is not the name\. /) });
      question = next;
    }
    expect(question).toMatchObject(accepted);
    expect(requests).toHaveLength(1);
  });

  test('by a click needs the name; without it, the plan still waits', async () => {
    const { call, click, requests } = setUp();
    const planned = await call(args, { hasView: true });
    expect(planned).toMatchObject({ view: { kind: 'plan', typedName: 'a.mov' } });
    for (const typedName of [undefined, '', 'b.mov'])
      expect(await click(planned, { typedName })).toMatchObject({ code: 'WrongName' });
    expect(requests).toEqual([]);
    expect(await click(planned, { typedName: 'a.mov' })).toMatchObject({ outcome: accepted });
  });
});
