import { expect, test } from 'vitest';
import type { Operation } from '../../src/tools/define-operation.js';
import { json } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { alice, changer, successOf } from '../support/changer.js';
import { answered, unanswered } from '../support/scripted-client.js';

/** The idempotency token of a change, by which the cloud carries out only one of several requests. */

const withToken = (takesToken = true): Operation => ({
  ...restoreInstance,
  takesToken,
  request: ({ instanceId }, _page, token) => ({ path: '/v1/instances:restore', body: json({ instanceId, token }) }),
});
const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
const lost = 'lost';
const settles = 'It is sent with the idempotency token of the first try.';

/** A server whose cloud answers to each request in turn. */
function setUp(outcomes: readonly ('accepted' | typeof lost)[], takesToken = true) {
  const operation = withToken(takesToken);
  let sent = 0;
  const session = changer({
    operation,
    operations: [operation],
    confirm: 'plan',
    reply: async () => {
      sent += 1;
      return outcomes[sent - 1] === lost ? unanswered(true) : answered(200, { instance: { instanceId: 'one' } });
    },
  });
  /** Plans and confirms. Returns the warnings of the plan. */
  const carryOut = async (given: { instanceId?: string; allowRepeat?: boolean } = {}, principal = alice) => {
    session.clock.time += 1000;
    const { changeId = '', plan } = successOf(await session.call({ ...args, ...given }, { principal }));
    await session.confirm(changeId, given.instanceId, { principal });
    return plan?.warnings.map(({ text }) => text).join(' ') ?? '';
  };
  const tokens = () => session.requests.map(({ body = '' }) => JSON.parse(body).token);
  return { ...session, carryOut, tokens };
}

test('is a UUID, and each change has its own', async () => {
  const { carryOut, tokens } = setUp(['accepted', 'accepted']);
  await carryOut();
  await carryOut({ instanceId: 'two' });
  for (const token of tokens())
    expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(tokens()).size).toBe(2);
});

test('of a change that ended unknown is sent again, and the plan says that it settles the first try', async () => {
  const { carryOut, tokens, journal } = setUp([lost, lost, 'accepted', 'accepted']);
  expect(await carryOut()).not.toContain(settles);
  for (const _ of ['second', 'third']) expect(await carryOut({ allowRepeat: true })).toContain(settles);
  const [first, second, third] = tokens();
  expect([second, third]).toEqual([first, first]);
  expect((await journal()).map(({ state }) => state)).toEqual(['unknown', 'unknown', 'accepted']);
  // The last try is known, so a repetition is another change.
  expect(await carryOut({ allowRepeat: true })).not.toContain(settles);
  expect(tokens()[3]).not.toBe(first);
});

test.each<readonly [string, readonly ('accepted' | typeof lost)[], boolean, object]>([
  ['of a change that was accepted', ['accepted', 'accepted'], true, {}],
  ['of an operation that takes none', [lost, 'accepted'], false, {}],
  ['of another change', [lost, 'accepted'], true, { instanceId: 'two' }],
])('%s is not sent again', async (_what, outcomes, takesToken, given) => {
  const { carryOut, tokens } = setUp(outcomes, takesToken);
  await carryOut();
  expect(await carryOut({ ...given, allowRepeat: true })).not.toContain(settles);
  const [first, second] = tokens();
  expect(tokens()).toHaveLength(2);
  if (takesToken) expect(second).not.toBe(first);
  else expect([first, second]).toEqual([undefined, undefined]);
});

test("of another caller's change is not sent, because that caller may not know of it", async () => {
  const { carryOut, tokens } = setUp([lost, 'accepted']);
  await carryOut();
  expect(await carryOut({ allowRepeat: true }, { ...alice, name: 'bob' })).not.toContain(settles);
  expect(new Set(tokens()).size).toBe(2);
});

test('makes no repetition another change: without allowRepeat it is refused', async () => {
  const { carryOut, call, requests } = setUp([lost]);
  await carryOut();
  expect(await call(args)).toMatchObject({ failure: { code: 'Repeated', earlier: { outcome: 'unknown' } } });
  expect(requests).toHaveLength(1);
});

test('if the request with the token cannot be made, nothing was sent', async () => {
  const operation: Operation = {
    ...withToken(),
    request: (_input, _page, token) => {
      if (token !== undefined) throw new Error('a fault');
      return { path: '/' };
    },
  };
  const { call, requests, journal } = changer({ operation, operations: [operation], confirm: 'off' });
  expect(await call(args)).toMatchObject({ failure: { code: 'InternalError', mayHaveHappened: false } });
  expect((await journal()).map(({ state }) => state)).toEqual(['not sent']);
  expect(requests).toEqual([]);
});
