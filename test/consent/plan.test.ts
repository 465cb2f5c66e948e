import { describe, expect, test } from 'vitest';
import { acceptOf, fingerprint, makePlan, planText } from '../../src/consent/plan.js';
import { json, xml } from '../../src/tools/request-body.js';
import { encodeRequest } from '../../src/transport/request.js';
import { say } from '../../src/util/safe-text.js';
import { callOf, endpoint } from '../support/planned-call.js';

/** A plan says where a change goes and what it risks, leaves nothing out that is so, and holds no secret. */

const input = { backupId: 'a'.repeat(32), instanceId: 'one' };

test.each([
  ['the account by the key that would sign, last', {}, [/^region jp-east-1/, 'account AKIDTEST']],
  ['the account by its name, first', { accountName: 'prod' }, ['account prod', /^region jp-east-1/]],
  [
    'the sandbox, before all',
    { endpoint: { ...endpoint, isSandbox: true } },
    ['the built-in sandbox', /^region jp-east-1/, 'account AKIDTEST'],
  ],
])('where it goes has %s', (_what, more, where) => {
  expect(makePlan({ ...callOf(input), ...more }).where).toEqual(
    where.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))),
  );
});

test('what is not so has no field, and no line', () => {
  const plain = callOf(input, { costsMoney: false, irreversible: false, consequences: () => [] });
  const plan = makePlan(plain);
  expect(plan).not.toHaveProperty('sandbox');
  expect(plan).not.toHaveProperty('found');
  expect(planText({ ...plan, summary: say`Create it.` }, undefined).text.split('\n')).toEqual([
    'Create it.',
    expect.stringMatching(/^Where: /),
  ]);
});

test('what is so is said, each thing under its title', () => {
  const call = callOf(input, { costsMoney: true, irreversible: true, warnings: () => [say`Mind the gap.`] });
  const sandboxed = { ...call, endpoint: { ...endpoint, isSandbox: true }, found: say`Found at noon: nothing.` };
  const plan = { ...makePlan(sandboxed), summary: say`Create ${'x'.repeat(33)}.` };
  expect(plan).toMatchObject({
    sandbox: true,
    found: 'Found at noon: nothing.',
    risks: ['costs money', 'no way back'],
  });
  const summary = say`Create ${'x'.repeat(33)}.`;
  const text = planText({ ...plan, summary }, '2026-11-20T12:10:00.000Z');
  for (const line of [
    `Create "${'x'.repeat(31)}…".`,
    `In full: "${'x'.repeat(33)}".`,
    'Risk: costs money, no way back.',
    'Found at noon: nothing.',
    'Warnings:\n- Mind the gap.',
    'This plan holds until 2026-11-20T12:10:00.000Z.',
  ])
    expect(`\n${text}\n`).toContain(`\n${line}\n`);
});

describe('the words that agree', () => {
  const words = (name: string, risky = true, tail: 'now' | 'in the zone of its backup' = 'now') =>
    acceptOf(
      callOf(input, {
        costsMoney: risky,
        irreversible: risky,
        accept: () =>
          tail === 'now' ? say`Create server ${name}` : say`Create server ${name} in the zone of its backup`,
      }),
    );

  test('are bare without a risk, and have each risk', () => {
    expect(words('a', false).text).toBe('Create server "a"');
    expect(words('a').text).toBe('Create server "a" (costs money, no way back)');
    expect(words('four').text).toBe('Create server "four" (costs money, no way back)');
    expect(words('fives').text).toBe('Create server "fives" (costs money, no way back)');
    expect(words('sixsix').text).toBe('Create server "sixs…" (costs money, no way back)');
  });

  test.each([1, 5, 6, 24, 60])(
    'have at most 48 characters, of which a name of %i gives way first, and no risk',
    (length) => {
      const name = 'n'.repeat(length);
      expect(words(name).text.length).toBeLessThanOrEqual(48);
      expect(words(name).text).toMatch(/^Create server "n.* \(costs money, no way back\)$/);
      const long = words(name, true, 'in the zone of its backup');
      expect(long.text.length).toBeLessThanOrEqual(48);
      expect(long.text).toMatch(/^Create server "n.* \(costs money, no way back\)$/);
    },
  );
});

describe('a secret', () => {
  const secret = 'MARKER of a secret';
  const secrets = { secrets: ['password'], secretNames: { passwordName: 'password' } };
  const call = callOf({ ...input, password: secret }, {}, secrets);
  const document = { Rule: { ID: 'one', Password: secret } };

  test.each([
    ['JSON', json({ password: secret })],
    ['XML', xml('Root', document)],
  ])('is in no %s body of a plan, but for what tells it from others', (_what, body) => {
    const { body: shown } = makePlan({ ...call, request: encodeRequest('POST', { path: '/', body }, endpoint) });
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(JSON.stringify(shown)).toContain(fingerprint(secret).slice(0, 20));
  });

  test('that was given by its name is that name', () => {
    const request = encodeRequest('POST', { path: '/', body: json({ p: secret }) }, endpoint);
    const named = { ...call, secretNames: { password: 'db' }, request };
    expect(makePlan(named)).toMatchObject({ body: { p: 'the secret "db" of this server' }, warnings: [] });
  });

  test.each([
    ['and a name would have done', secrets, /^password came with the call.* Give passwordName instead/],
    ['and has no name', { secrets: ['password'] }, /^password came with the call.* may keep it\.$/],
    ['and its name is of another', { ...secrets, secretNames: { otherName: 'other' } }, /may keep it\.$/],
  ])('that came with the call is warned of: %s', (_what, more, warning) => {
    expect(makePlan(callOf({ ...input, password: secret }, {}, more)).warnings).toEqual([
      expect.stringMatching(warning),
    ]);
  });

  test('that was not given is no matter', () => {
    expect(makePlan(callOf(input, {}, secrets)).warnings).toEqual([]);
  });
});
