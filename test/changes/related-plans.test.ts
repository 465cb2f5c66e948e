import { describe, expect, test } from 'vitest';
import { relatedPlans, relatedText, subjectOf, withOtherPlans } from '../../src/changes/open-changes.js';
import type { FoundPlan, KeptPlan } from '../../src/consent/plans.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { say } from '../../src/util/safe-text.js';
import { keptPlanAt } from '../support/kept-plan.js';
import { callOf } from '../support/planned-call.js';

/** Plans for the same thing: which they are, and the sentence about each. */

const start = Date.parse('2026-11-20T12:00:00Z');
const minute = 60_000;
const operation = restoreInstance as Operation;

const subject = { digest: 'd'.repeat(64), name: 'wiki' };
const kept = keptPlanAt(start, { subject });
const waiting: FoundPlan = { ...kept, state: 'waiting', expiresAt: start + 60 * minute };

/** The decision of a person who signed in. */
const accepted = { kind: 'accepted', person: 'bob', at: start } as const;

describe('the subject of a change', () => {
  const object = { bucket: 'b', key: 'k', size: 1 };
  const subjectFor = (identifies: readonly string[], input: Readonly<Record<string, unknown>> = object) =>
    subjectOf(callOf({}, { identifies }).operation, 'default', input);

  test.each<readonly [string, readonly string[], Readonly<Record<string, unknown>>, string | undefined]>([
    ['of one argument is its value', ['key'], object, 'k'],
    ['of several arguments is the value of the last', ['bucket', 'key'], object, 'k'],
    ['of an argument inside another is its value', ['pool.name'], { pool: { name: 'p' } }, 'p'],
    ['of no argument is unknown', [], object, undefined],
    ['of a list is unknown', ['keys[]'], { keys: ['k'] }, undefined],
    ['of an absent argument is unknown', ['bucket', 'key'], { bucket: 'b' }, undefined],
    ['of an argument that is no text is unknown', ['bucket', 'size'], object, undefined],
  ])('%s', (_what, identifies, input, name) => {
    expect(subjectFor(identifies, input)?.name).toBe(name);
  });

  test('is unknown if the operation does not say what identifies it, and reads have none', () => {
    const { identifies: _, ...change } = callOf({}).change;
    expect(subjectOf({ ...operation, change }, 'default', object)).toBeUndefined();
    expect(subjectOf(listParts as Operation, 'default', object)).toBeUndefined();
  });

  test('is the same whatever the other arguments are', () => {
    expect(subjectFor(['bucket', 'key'], { ...object, size: 2 })).toEqual(subjectFor(['bucket', 'key']));
  });

  test('is another with other entries of an identifying list', () => {
    const subjectWith = (keys: readonly string[]) => subjectFor(['keys[]', 'bucket'], { ...object, keys })?.digest;
    expect(subjectWith(['k'])).toBe(subjectWith(['k']));
    expect(subjectWith(['k'])).not.toBe(subjectWith(['l']));
  });

  test('is another with another tool, account or identifying argument', () => {
    const { operation: change } = callOf({}, { identifies: ['bucket', 'key'] });
    const digests = [
      subjectOf(change, 'default', object),
      subjectOf({ ...change, name: 'other' }, 'default', object),
      subjectOf(change, 'other', object),
      subjectOf(change, 'default', { ...object, bucket: 'other' }),
      subjectOf(change, 'default', { ...object, key: 'other' }),
    ].map((each) => each?.digest);
    expect(new Set(digests).size).toBe(5);
  });
});

describe('a plan', () => {
  test.each<readonly [string, Partial<FoundPlan>, boolean]>([
    ['that waits is related', {}, true],
    ['that was accepted is related', { state: 'decided', decision: accepted }, true],
    ['that was declined is not', { state: 'decided', decision: { ...accepted, kind: 'declined' } }, false],
    ['that was withdrawn is not', { state: 'decided', decision: { kind: 'withdrawn', at: start } }, false],
    ['that was decided, nobody knows how, is not', { state: 'decided' }, false],
    ['for another thing of this name is not', { subject: { digest: 'e'.repeat(64), name: 'wiki' } }, false],
    ['for an unknown thing is not', { subject: undefined }, false],
    ['is not related to itself', { nonce: 'own' }, false],
  ])('%s', (_what, more, isRelated) => {
    const other = { ...waiting, ...more };
    expect(relatedPlans([other], { nonce: 'own', subject })).toEqual(isRelated ? [other] : []);
  });

  test('that is not stored is related to all that are', () => {
    const all = [waiting, { ...waiting, nonce: 'n-2' }];
    expect(relatedPlans(all, { subject })).toEqual(all);
  });

  test('for an unknown thing has no related plans', () => {
    expect(relatedPlans([waiting, { ...waiting, subject: undefined }], { nonce: 'own' })).toEqual([]);
  });

  test('is shown with sentences about the others, and is the same without any', () => {
    const others = [say`Another plan waits.`];
    const { plan } = kept;
    expect(withOtherPlans(plan, others)).toEqual({ ...plan, others });
    expect(withOtherPlans(plan, [])).toBe(plan);
  });
});

describe('the sentence about another plan', () => {
  const sentence = (more: Partial<FoundPlan>, args: KeptPlan['args']) =>
    relatedText({ ...waiting, ...more }, { args, issuedAt: start }, operation, new Date(start + 2 * minute)).text;

  test.each<readonly [string, Partial<FoundPlan>, string]>([
    ['that waits', { issuedAt: start - minute }, 'Another plan for "wiki" waits: disk size 100 GB, asked 3 min ago.'],
    ['that is newer', { issuedAt: start + minute }, 'A newer plan for "wiki" waits: disk size 100 GB, asked 60 s ago.'],
    [
      'from a server whose clock is ahead',
      { issuedAt: start + 3 * minute },
      'A newer plan for "wiki" waits: disk size 100 GB, asked 0 s ago.',
    ],
    [
      'that a person accepted',
      { issuedAt: start - minute, decision: accepted },
      'Another plan for "wiki" was accepted: disk size 100 GB. "bob" accepted this at 2026-11-20T12:00:00.000Z.',
    ],
    [
      'that somebody accepted',
      { issuedAt: start - minute, decision: { kind: 'accepted', at: start } },
      'Another plan for "wiki" was accepted: disk size 100 GB. Somebody accepted this at 2026-11-20T12:00:00.000Z.',
    ],
  ])('%s', (_what, more, text) => {
    expect(sentence({ args: { diskSize: 100 }, ...more }, { diskSize: 200 })).toBe(text);
  });

  test.each<readonly [string, KeptPlan['args'], KeptPlan['args'], string]>([
    ['a number with its unit', { diskSize: 100 }, { diskSize: 200 }, 'disk size 100 GB'],
    ['a text in quotation marks', { instanceType: 'c-large' }, { instanceType: 'e-large' }, 'server type "c-large"'],
    ['an argument that only the other has', { diskSize: 100 }, {}, 'disk size 100 GB'],
    ['an argument inside another', { networkConfig: { networkId: 'n' } }, {}, 'private network\'s LAN "n"'],
    ['an argument that the schema does not have, by its path', { odd: { way: true } }, {}, 'odd.way true'],
    ['several, the first five', { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, {}, 'a 1, b 2, c 3, d 4, e 5'],
    ['only what differs', { a: 1, b: 2 }, { a: 1, b: 3 }, 'b 2'],
    ['that it is the same change', { a: 1 }, { a: 1 }, 'the same change'],
    ['that it has fewer arguments', { a: 1 }, { a: 1, b: 2 }, 'with fewer arguments'],
    [
      '40 characters of a long text',
      { description: 'x'.repeat(41) },
      {},
      `description "${'x'.repeat(40)}…" (cut, 41 characters)`,
    ],
  ])('says %s', (_what, other, args, text) => {
    const older = sentence({ args: other, issuedAt: start - minute }, args);
    expect(older).toBe(`Another plan for "wiki" waits: ${text}, asked 3 min ago.`);
  });

  test('names arguments by their paths if the operation is gone', () => {
    const text = relatedText(
      { ...waiting, args: { diskSize: 100 } },
      { args: {}, issuedAt: start },
      undefined,
      new Date(),
    );
    expect(text.text).toMatch(/waits: diskSize 100, asked/);
  });
});
