import { describe, expect, test } from 'vitest';
import { fingerprint } from '../../src/calls/call-secrets.js';
import { partsToShow } from '../../src/calls/resolve-call.js';
import type { ResolvedChange } from '../../src/calls/resolved-call.js';
import { acceptOf, makePlan, planDetails } from '../../src/changes/plan.js';
import { json, plainText, type RequestBody } from '../../src/tools/request-body.js';
import { encodeRequest } from '../../src/transport/request.js';
import { say } from '../../src/util/safe-text.js';
import { encodeSegment } from '../../src/util/uri.js';
import { callOf, endpoint } from '../support/planned-call.js';

/** A plan says where a change goes and what it risks, leaves nothing out that is so, and holds no secret. */

const input = { backupId: 'a'.repeat(32), instanceId: 'one' };

test.each([
  ['a field', { description: 'd' }, ['also']],
  ['a list', { keys: ['a', 'b'] }, ['also', 'tables']],
  ['both', { description: 'd', keys: ['a', 'b'] }, ['also', 'tables']],
  ['nothing', {}, []],
])('of the arguments that are named nowhere else, here %s, it has %j', (_what, more, fields) => {
  const plan = makePlan(callOf({ ...input, ...more }, { named: Object.keys(input) }));
  expect(Object.keys(plan).filter((name) => ['also', 'tables'].includes(name))).toEqual(fields);
});

test('a long name is whole below its first lines', () => {
  const name = 'n'.repeat(400);
  const plan = makePlan(callOf(input, { headline: () => say`Create server ${name}` }));
  expect(planDetails(plan).join('\n')).toContain(`In full: Create server "${name}".`);
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
});
