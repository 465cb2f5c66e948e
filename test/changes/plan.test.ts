import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { fingerprint } from '../../src/calls/hide-secrets.js';
import { defaultText, hintsOf } from '../../src/calls/hints.js';
import type { Plan, Risk } from '../../src/calls/outcome.js';
import { partsToShow } from '../../src/calls/resolve-call.js';
import type { ResolvedChange } from '../../src/calls/resolved-call.js';
import { acceptOf, cautionsOf, makePlan, planText } from '../../src/changes/plan.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { json, plainText, type RequestBody } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { encodeRequest } from '../../src/transport/request.js';
import { say } from '../../src/util/safe-text.js';
import { encodeSegment } from '../../src/util/uri.js';
import { callOf, endpoint } from '../support/planned-call.js';

/** A plan says where a change goes and what it risks, leaves nothing out that is so, and holds no secret. */

const input = { backupId: 'a'.repeat(32), instanceId: 'one' };

test.each([
  ['the account by the key that would sign, last', {}, [/^region jp-east-1/, 'account AKIDTEST']],
  ['the account by its name, first', { accountName: 'prod' }, ['account prod', /^region jp-east-1/]],
  [
    'that the call did not choose the account',
    { accountName: 'prod', isDefaultAccount: true },
    ['account prod (default)', /^region jp-east-1/],
  ],
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

test('where it goes is the receiver of the request, if the operation has no argument for the region', () => {
  const { where } = makePlan(callOf(input, {}, { input: () => z.object({ instanceId: z.string() }) }));
  expect(where[0]?.text).toBe('request sent to jp-east-1 (given)');
});

test.each<readonly [Operation['effect'], Partial<ChangeTexts>, readonly Risk[]]>([
  ['create', { costsMoney: false }, []],
  ['create', { costsMoney: true }, ['costs money']],
  ['alter', { costsMoney: false, irreversible: true }, ['no way back']],
  // A deletion cannot be undone unless its operation says that it can.
  ['delete', { costsMoney: false }, ['no way back']],
  ['delete', { costsMoney: false, irreversible: false }, []],
  ['delete', { costsMoney: true }, ['costs money', 'no way back']],
])('the risks of a change with the effect %s and %j are %j', (effect, change, risks) => {
  expect(makePlan(callOf(input, change, { effect })).risks).toEqual(risks);
});

test('what is not so has no field, and no line', () => {
  const plain = callOf(input, { costsMoney: false, irreversible: false, consequences: () => [] });
  const plan = makePlan(plain);
  expect(plan).not.toHaveProperty('sandbox');
  expect(plan).not.toHaveProperty('found');
  expect(plan).not.toHaveProperty('alert');
  expect(planText({ ...plan, summary: say`Create it.` }, undefined).text.split('\n')).toEqual([
    'Create it.',
    expect.stringMatching(/^Where: /),
  ]);
});

test('what is so is said, each thing under its title', () => {
  const call = callOf(input, { costsMoney: true, irreversible: true, warnings: () => [say`Mind the gap.`] });
  const sandboxed = { ...call, endpoint: { ...endpoint, isSandbox: true }, found: say`As of noon: nothing.` };
  const plan = { ...makePlan(sandboxed), summary: say`Create ${'x'.repeat(33)}.` };
  expect(plan).toMatchObject({
    sandbox: true,
    found: 'As of noon: nothing.',
    risks: ['costs money', 'no way back'],
  });
  const summary = say`Create ${'x'.repeat(33)}.`;
  const text = planText({ ...plan, summary }, '2026-11-20T12:10:00.000Z');
  for (const line of [
    `Create "${'x'.repeat(31)}…".`,
    `In full: "${'x'.repeat(33)}".`,
    'It costs money. This cannot be undone.',
    'As of noon: nothing.',
    'Warnings:\n- Mind the gap.',
    'This plan holds until 2026-11-20T12:10:00.000Z.',
  ])
    expect(`\n${text}\n`).toContain(`\n${line}\n`);
});

test.each([
  ['a field', { description: 'd' }, ['also']],
  ['a list', { keys: ['a', 'b'] }, ['also', 'tables']],
  ['both', { description: 'd', keys: ['a', 'b'] }, ['also', 'tables']],
  ['nothing', {}, []],
])('of the arguments that are named nowhere else, here %s, it has %j', (_what, more, fields) => {
  const plan = makePlan(callOf({ ...input, ...more }, { named: Object.keys(input) }));
  expect(Object.keys(plan).filter((name) => ['also', 'tables'].includes(name))).toEqual(fields);
});

test('an argument that is named has no sentence, and still its table', () => {
  const plan = makePlan(callOf({ ...input, keys: ['a', 'b'] }, { named: [...Object.keys(input), 'keys[]'] }));
  expect(plan).not.toHaveProperty('also');
  expect(plan.tables).toMatchObject([{ title: 'Keys', rows: [['"a"'], ['"b"']] }]);
});

describe('the cautions below the headline', () => {
  const cautions = (more: Partial<Plan>) =>
    cautionsOf({ ...makePlan(callOf(input)), risks: ['costs money'], ...more }).map(({ text }) => text);
  const alert = say`It is running.`;
  const others = [say`Another plan waits.`];

  test.each<readonly [string, Partial<Plan>, readonly string[]]>([
    ['are the risks', {}, ['It costs money.']],
    ['are the alert, which names the risks too', { alert }, ['It is running. It costs money.']],
    ['end with the other plans', { others, alert }, ['It is running. It costs money.', 'Another plan waits.']],
    ['are the alert alone without a risk', { alert, risks: [] }, ['It is running.']],
    ['are none if there is nothing to say', { risks: [] }, []],
  ])('%s', (_what, more, expected) => {
    expect(cautions(more)).toEqual(expected);
  });

  test('have the alert that the present state gives', () => {
    expect(makePlan({ ...callOf(input), alert })).toMatchObject({ alert });
  });
});

describe('a default of the cloud', () => {
  const { unknownDefaults: _, costDrivers: __, ...operation } = restoreInstance as Operation;
  const hints = (more: Partial<Operation>, given: Readonly<Record<string, unknown>> = {}) =>
    hintsOf({ ...operation, defaults: [], ...more }, callOf({}).change, { ...input, ...given }, 'jp-east-1');
  const defaults = [{ path: 'instanceType', value: 'e-large' }];
  const ofRegion = (inRegion: Readonly<Record<string, string>>) => [
    { path: 'availabilityZone', value: 'by region', inRegion },
  ];
  const lfs = 'objectStorageConfig.bucketUseObjects.lfs';

  test.each<readonly [string, Partial<Operation>, Readonly<Record<string, unknown>>, readonly string[]]>([
    ['of an absent argument is named', { defaults }, {}, ['instanceType: e-large']],
    ['of an argument that is given is not', { defaults }, { instanceType: 'c-large' }, []],
    ['is that of the region', { defaults: ofRegion({ 'jp-east-1': 'east-11' }) }, {}, ['availabilityZone: east-11']],
    ['of another region is not named', { defaults: ofRegion({ 'jp-west-1': 'west-12' }) }, {}, []],
  ])('%s', (_what, more, given, named) => {
    expect(hints(more, given).defaults.map((each) => defaultText(each).text)).toEqual(named);
  });

  test.each(['constructor', '__proto__'])('of the region %s, which no table has, is not named', (region) => {
    const { defaults } = hintsOf(callOf({}).operation, callOf({}).change, { ...input, region }, region);
    expect(defaults.map(({ path }) => path)).toEqual([]);
  });

  const notDocumented = 'What the cloud uses instead is not documented';
  test.each<readonly [string, Partial<Operation>, Readonly<Record<string, unknown>>, readonly string[]]>([
    ['is missing if the default of each argument is documented', {}, {}, []],
    ['names an absent argument', { unknownDefaults: ['diskSize'] }, {}, [`Not given: diskSize. ${notDocumented}.`]],
    [
      'names an absent argument that decides the cost',
      { unknownDefaults: ['diskSize'], costDrivers: ['diskSize'] },
      {},
      [`Not given: diskSize. ${notDocumented}, and the cost depends on diskSize.`],
    ],
    [
      'names an argument inside an object that is given',
      { unknownDefaults: [lfs] },
      { objectStorageConfig: { bucketUseObjects: {} } },
      [`Not given: ${lfs}. ${notDocumented}.`],
    ],
    ['does not name an argument inside an absent object', { unknownDefaults: [lfs] }, { objectStorageConfig: {} }, []],
  ])('that is not documented: the warning %s', (_what, more, given, warnings) => {
    expect(hints(more, given).warnings).toEqual(warnings);
  });
});

test.each([
  ['JSON as its value', json({ a: 1 }), { a: 1 }],
  ['text that is JSON as its value', plainText('{"a":1}'), { a: 1 }],
  ['other text as it is', plainText('a: 1'), 'a: 1'],
  ['XML as text', plainText('<A>\n  <B>1</B>\n</A>\n'), '<A>\n  <B>1</B>\n</A>\n'],
])('a body is shown: %s', (_what, body, shown) => {
  const shownRequest = encodeRequest('POST', { path: '/', body }, endpoint);
  expect(makePlan({ ...callOf(input), shownRequest }).body).toEqual(shown);
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

  /** The plan of a call whose operation makes its body of the argument `password`, as a call of an agent has it. */
  const planWith = async (planned: ResolvedChange, bodyOf: (password: unknown) => RequestBody) => {
    const request = ({ password }: Readonly<Record<string, unknown>>) => ({ path: '/', body: bodyOf(password) });
    const operation = { ...planned.operation, request };
    const sent = encodeRequest('POST', request(planned.input), endpoint);
    const shown = await partsToShow({ ...planned, operation, request: sent });
    return makePlan({ ...planned, operation, request: sent, ...shown });
  };

  test.each([
    ['JSON', (password: unknown) => json({ password })],
    ['XML', (password: unknown) => plainText(`<Rule><ID>one</ID><Password>${password}</Password></Rule>`)],
  ])('is in no %s body of a plan, but for what tells it from others', async (_what, bodyOf) => {
    const { body: shown } = await planWith(call, bodyOf);
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(JSON.stringify(shown)).toContain(fingerprint(secret));
  });

  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const mark = fingerprint(secret);
  test.each([
    ['a form', plainText(`Password=${encodeSegment(mark)}&Other=a%20b`), `Password=${mark}&Other=a%20b`],
    ['base64 in a form', plainText(`Password=${encodeSegment(base64(mark))}&a=1`), `Password=${mark}&a=1`],
    ['base64 in JSON', plainText(JSON.stringify({ p: [base64(mark)], a: 1 })), { p: [mark], a: 1 }],
    ['base64 in XML', plainText(`<P>${base64(mark)}</P>`), `<P>${mark}</P>`],
  ])('has words in its place that can be read in %s', (_what, body, readable) => {
    const shownRequest = encodeRequest('POST', { path: '/', body }, endpoint);
    expect(makePlan({ ...call, shownRequest }).body).toEqual(readable);
  });

  test('that was given by its name is that name', async () => {
    const plan = await planWith({ ...call, nameBySecretPath: { password: 'db' } }, (p) => json({ p }));
    expect(plan).toMatchObject({ body: { p: 'the secret "db" of this server' }, warnings: [] });
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

  test('in a list is warned of once, by the name of the list', () => {
    const users = [{ password: secret }, { password: `${secret}, too` }];
    const { warnings, tables } = makePlan(callOf({ ...input, users }, {}, { secrets: ['users[].password'] }));
    expect(warnings).toEqual([expect.stringMatching(/^users\.password came with the call/)]);
    expect(JSON.stringify(tables)).not.toContain(secret);
  });

  test('is replaced once, also if another secret is like the words in its place', async () => {
    const passwords = [secret, fingerprint(secret)];
    const withBoth = callOf({ ...input, password: passwords }, {}, { secrets: ['password'] });
    const { body: shown } = await planWith(withBoth, (password) => json({ password }));
    expect(shown).toEqual({ password: passwords.map(fingerprint) });
  });

  test('that was not given is no matter', () => {
    expect(makePlan(callOf(input, {}, secrets)).warnings).toEqual([]);
  });
});
