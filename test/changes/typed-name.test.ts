import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import type { Elicitor } from '../../src/calls/context.js';
import { Refusal } from '../../src/calls/refusal.js';
import { isTyped, nameToType } from '../../src/changes/typed-name.js';
import { consentForm } from '../../src/mcp/elicitation.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { words } from '../../src/util/safe-text.js';
import { accepted, changer, failed } from '../support/changer.js';
import { answered } from '../support/scripted-client.js';

/** To delete something, a person types its name, the end of a long name, or the number of things. */

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
  const name = nameToType({ operation: { effect }, change, input: { ...input }, account: { confirm, confirmDelete } });
  return name instanceof Refusal ? name.code : name;
}
const called = (object: unknown): Given => ({ input: { ...args, object } });
/** The list `all`, whose entries have a key. */
const keyed = (...all: readonly object[]): Given => ({ change: { identifies: ['all[].key'] }, input: { all } });
const listed = (...keys: readonly string[]): Given => ({ change: { identifies: ['keys[]'] }, input: { keys } });
const arn = 'arn:aws:iam::123456789012:role/admin';

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
  ['is the only one in a list', listed('one'), 'one'],
  ['is the only one in a list of objects', keyed({ key: 'k' }), 'k'],
  ['of two things is their number', listed('one', 'two'), 'delete 2'],
  ['of the same thing twice is the number of entries', listed('one', 'one'), 'delete 2'],
  ['of three objects is their number', keyed({ key: 'a' }, { key: 'b' }, { key: 'c' }), 'delete 3'],
  ['counts an entry that has none', keyed({ key: 'harmless' }, {}), 'delete 2'],
  ['of a single entry that has none is its number', keyed({}), 'delete 1'],
  ['of an empty list is the word', listed(), 'delete'],
  ['is the word if no argument has it', { change: { identifies: [] } }, 'delete'],
  ['is the word if the operation does not say which argument has it', { change: {} }, 'delete'],
  ['is the word if its argument is absent', { input: {} }, 'delete'],
  ['is the word if its argument is no text', called(7), 'delete'],
  ['is wanted without the spaces around it', called(' a.mov '), 'a.mov'],
  ['is wanted with 40 characters', called('x'.repeat(40)), 'x'.repeat(40)],
  ['with 41 characters is its end', called(`${'x'.repeat(33)}12345678`), '12345678'],
  ['of emoji is cut between characters', called(`${'x'.repeat(40)}${'🦊'.repeat(9)}`), '🦊'.repeat(8)],
  ['that is an ARN is its end', called(arn), 'le/admin'],
  ['that is an ARN in capitals is its end', called(arn.toUpperCase()), 'LE/ADMIN'],
  ['that is a URL is its end', called('https://a.example/queue'), 'le/queue'],
  ['that is the address of a bucket is its end', called('s3://bucket/key'), 'cket/key'],
  ['that only looks like an ARN is whole', called('barn:1'), 'barn:1'],
  ['that is empty is refused', called(''), 'InvalidArguments'],
  ['that has only spaces is refused', called('  '), 'InvalidArguments'],
  ['that is a blank of Braille is refused', called('\u2800'), 'InvalidArguments'],
  ['that begins invisibly is refused', called('\ufeffa.mov'), 'InvalidArguments'],
  ['that has an invisible character is refused', called('a\u200bb'), 'InvalidArguments'],
  ['that changes the reading order is refused', called('a\u202eb'), 'InvalidArguments'],
  ['of several things is refused if one is blank', listed('one', '\u3164'), 'InvalidArguments'],
  ['that nobody types is refused too', { ...called('\u200b'), confirm: 'plan' }, 'InvalidArguments'],
  ['that needs only a click is refused too', { ...called(''), confirmDelete: 'click' }, 'InvalidArguments'],
  ['that nobody sees is not checked', { ...called(''), confirm: 'off' }, undefined],
])('the name %s', (_what, given, expected) => {
  expect(nameFor(given)).toBe(expected);
});

test.each<readonly [string | undefined, string | undefined, boolean]>([
  ['a', 'a', true],
  ['a', ' a ', true],
  ['a', '"a"', true],
  ['a', '"a', false],
  ['a"b', 'a"b', true],
  ['a"b', 'a\\"b', true],
  ['a"b', '"a\\"b"', true],
  ['a', 'A', false],
  ['a', 'ab', false],
  ['a', '', false],
  ['a', undefined, false],
  [undefined, undefined, true],
  [undefined, 'a', true],
])('if %j is wanted, %j agrees: %s', (wanted, typed, agrees) => {
  expect(isTyped(wanted, typed)).toBe(agrees);
});

test.each(['claude-code 2.1.330', 'codex-mcp-client 0.169.0'])(
  'the form of a deletion in %s has the field for the name, and no second field that could contradict it',
  (name) => {
    expect(consentForm({ name }, words('Abort'), 'a.mov')).toEqual({
      type: 'object',
      properties: { name: { type: 'string', title: 'Type a.mov' } },
      required: ['name'],
    });
    expect(consentForm({ name }, words('Create')).properties).not.toHaveProperty('name');
  },
);

test('the form has a field for a reason, but not in Codex, which submits no form with an empty field', () => {
  const fieldsFor = (name: string) => Object.keys(consentForm({ name }, words('Create')).properties);
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
    expect(await call(args, { client: { elicitor } })).toMatchObject(accepted);
    expect(asked.map((text) => text.startsWith('That does not match.\n'))).toEqual([false, true, true]);
    expect(await states()).toEqual(['accepted']);
    expect(requests).toHaveLength(1);
  });

  test('ends after five wrong names: its plan is withdrawn, and nobody has refused', async () => {
    const { call, personOf, states, requests } = setUp();
    const { elicitor, asked } = personOf('wrongName');
    expect(await call(args, { client: { elicitor } })).toMatchObject(failed('WrongName'));
    expect(asked).toHaveLength(5);
    expect([await states(), requests]).toEqual([['withdrawn'], []]);
  });

  test('whose second call brings a wrong name asks again, with the same proof', async () => {
    const { call, personOf, clock, requests } = setUp();
    const { elicitor } = personOf('later');
    let question = await call(args, { client: { elicitor } });
    for (const kind of ['wrongName', 'wrongName', 'agreed'] as const) {
      clock.time += 3000;
      if (question.kind !== 'inputRequired') throw new Error(`the call ended as ${question.kind}`);
      const { state: proof } = question;
      const brought = { kind: 'answer', proof, responseTo: () => ({ kind }), visit: 'cancelled' } as const;
      const next = await call(args, { client: { elicitor }, brought });
      if (kind === 'wrongName')
        expect(next).toMatchObject({ state: proof, message: expect.stringMatching(/^That does not match\.\n/) });
      question = next;
    }
    expect(question).toMatchObject(accepted);
    expect(requests).toHaveLength(1);
  });

  test('for a blank name is refused before anybody is asked', async () => {
    const { call, personOf, journal, requests } = setUp();
    const { elicitor, asked } = personOf('agreed');
    const refused = await call({ ...args, object: '\u2800' }, { client: { elicitor } });
    expect(refused).toMatchObject(failed('InvalidArguments', 'nobody can check it'));
    expect([asked, await journal(), requests]).toEqual([[], [], []]);
  });

  test('by a click needs the name; without it, the plan still waits', async () => {
    const { call, click, requests } = setUp();
    const planned = await call(args, { client: { views: true } });
    expect(planned).toMatchObject({ view: { kind: 'plan', typedName: 'a.mov' } });
    for (const typedName of [undefined, '', 'b.mov'])
      expect(await click(planned, { typedName })).toMatchObject({ code: 'WrongName' });
    expect(requests).toEqual([]);
    expect(await click(planned, { typedName: 'a.mov' })).toMatchObject({ outcome: accepted });
  });
});
