import { errors, exportJWK, type GenerateKeyPairResult, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createIssuerKeys, IssuerProblem } from '../../src/http/issuer-keys.js';
import type { HttpClient, HttpFailure, HttpResponse } from '../../src/transport/http-client.js';

const issuer = 'https://id.example.com';
const minute = 60_000;
const hour = 60 * minute;

const refused: HttpFailure = {
  kind: 'failure',
  code: 'ConnectionRefused',
  detail: 'ECONNREFUSED: connect ECONNREFUSED',
  mayHaveArrived: false,
};
const answer = (status: number, body: string): HttpResponse => ({ kind: 'response', status, headers: {}, body });

let pairs: { readonly old: GenerateKeyPairResult; readonly new: GenerateKeyPairResult };
beforeAll(async () => {
  pairs = { old: await generateKeyPair('ES256'), new: await generateKeyPair('ES256') };
});
type Kid = keyof typeof pairs;

/** An issuer with the keys in `published`. The clock stands still, and `asked` records the requested paths. */
let published: Kid[];
let metadata: object;
let fault: HttpFailure | HttpResponse | undefined;
let asked: string[];
let waits: number[];
let logged: unknown[];
let onWait: () => void;
let onSleep: (() => Promise<unknown>) | undefined;
beforeEach(() => {
  published = ['old'];
  metadata = { issuer, jwks_uri: `${issuer}/keys` };
  fault = undefined;
  asked = [];
  waits = [];
  logged = [];
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-20T12:00:00Z') });
  onWait = () => undefined;
  onSleep = undefined;
});
afterEach(() => void vi.useRealTimers());
/** jose reads the clock itself. */
const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

const httpClient: HttpClient = {
  send: async ({ path }) => {
    asked.push(path);
    if (fault !== undefined) return fault;
    if (path === '/.well-known/openid-configuration') return answer(200, JSON.stringify(metadata));
    if (path !== '/keys') return answer(404, '');
    const keys = published.map(async (kid) => ({ ...(await exportJWK(pairs[kid].publicKey)), kid }));
    return answer(200, JSON.stringify({ keys: await Promise.all(keys) }));
  },
  close: async () => undefined,
};
const fetches = () => asked.filter((path) => path === '/.well-known/oauth-authorization-server').length;

const open = (named = issuer) =>
  createIssuerKeys({
    issuer: named,
    httpClient,
    now: () => new Date(),
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
      if (onSleep !== undefined) return onSleep();
      pass(milliseconds);
      onWait();
    },
    log: (level, event, fields) => logged.push({ level, event, ...fields }),
  });

/** Verifies a token of a key. Resolves with `good`, the code of jose for the token, or the issuer's problem. */
async function verify(keys: ReturnType<typeof open>, kid: Kid): Promise<string> {
  const token = await new SignJWT().setProtectedHeader({ alg: 'ES256', kid }).sign(pairs[kid].privateKey);
  return jwtVerify(token, keys.keyOf).then(
    () => 'good',
    (error) => (error instanceof errors.JOSEError ? error.code : error instanceof IssuerProblem ? 'away' : 'other'),
  );
}

describe('keys of an issuer', () => {
  test('are kept for a day while it is away, which nobody waits for', async () => {
    const keys = open();
    expect(await verify(keys, 'old')).toBe('good');
    fault = refused;
    pass(11 * minute);
    for (; Date.now() < Date.parse('2026-11-21T11:59:00Z'); pass(hour)) expect(await verify(keys, 'old')).toBe('good');
    expect([keys.reachable(), waits]).toEqual([false, []]);
    vi.setSystemTime('2026-11-21T12:00:00Z');
    expect(await verify(keys, 'old')).toBe('away');
    fault = undefined;
    pass(5001);
    expect(await verify(keys, 'old')).toBe('good');
    expect(keys.reachable()).toBe(true);
  });

  test('are not good before the first, nor after a day, and are fetched again although no token comes', async () => {
    const keys = open();
    fault = refused;
    await keys.metadata().catch(() => undefined);
    expect(keys.areGood()).toBe(false);
    pass(4999);
    expect([keys.areGood(), fetches()]).toEqual([false, 1]);
    fault = undefined;
    pass(1);
    expect(keys.areGood()).toBe(false);
    await vi.waitFor(() => expect(keys.areGood()).toBe(true));
    expect(fetches()).toBe(2);
    pass(10 * minute);
    expect(keys.areGood()).toBe(true);
    await vi.waitFor(() => expect(fetches()).toBe(3));
    await vi.waitFor(() => expect(asked.at(-1)).toBe('/keys'));
    await keys.metadata().catch(() => undefined);
    fault = refused;
    for (let hours = 0; hours < 23; hours += 1) {
      pass(hour);
      expect(keys.areGood()).toBe(true);
      await keys.metadata().catch(() => undefined);
    }
    pass(hour);
    expect([keys.areGood(), keys.reachable()]).toEqual([false, false]);
  });

  test('are fetched again as soon as the issuer answers, at most every five seconds', async () => {
    const keys = open();
    await verify(keys, 'old');
    fault = refused;
    pass(10 * minute);
    await verify(keys, 'old');
    published = ['new'];
    fault = undefined;
    pass(4999);
    expect([await verify(keys, 'old'), fetches()]).toEqual(['good', 2]);
    pass(1);
    // This token is still verified with the last good keys, because the new keys are fetched in the background.
    expect(await verify(keys, 'old')).toBe('good');
    await vi.waitFor(() => expect(keys.reachable()).toBe(true));
    expect([await verify(keys, 'new'), fetches()]).toEqual(['good', 3]);
  });

  test('are fetched again after ten minutes: one that was withdrawn is refused', async () => {
    const keys = open();
    await verify(keys, 'old');
    published = ['new'];
    pass(10 * minute - 1);
    expect(await verify(keys, 'old')).toBe('good');
    pass(1);
    expect(await verify(keys, 'old')).toBe('ERR_JWKS_NO_MATCHING_KEY');
  });

  test('that are new let tokens in at once, and within five seconds of the last fetch after that pause', async () => {
    const keys = open();
    await verify(keys, 'old');
    pass(2000);
    onWait = () => published.push('new');
    expect(await Promise.all(Array.from({ length: 20 }, () => verify(keys, 'new')))).toEqual(Array(20).fill('good'));
    expect([fetches(), waits]).toEqual([2, [3000]]);
  });

  test('that stay unknown after a fetch are a mistake of the token, unless the fetch failed', async () => {
    const keys = open();
    await verify(keys, 'old');
    pass(6000);
    expect(await verify(keys, 'new')).toBe('ERR_JWKS_NO_MATCHING_KEY');
    expect(fetches()).toBe(2);
    pass(6000);
    fault = refused;
    expect(await verify(keys, 'new')).toBe('away');
    // During the pause, the issuer gets no requests, and tokens with known keys are valid.
    expect([await verify(keys, 'new'), await verify(keys, 'old'), fetches()]).toEqual(['away', 'good', 3]);
  });
});

describe('strangers, whose tokens name keys that nobody has,', () => {
  /** Resolves like `verify` for a token that names any key. */
  const verifyNamed = async (keys: ReturnType<typeof open>, kid: string) => {
    const token = await new SignJWT().setProtectedHeader({ alg: 'ES256', kid }).sign(pairs.old.privateKey);
    return jwtVerify(token, keys.keyOf).catch((error) => (error instanceof IssuerProblem ? 'away' : error.code));
  };

  test('wait 32 at a time; the others are told to come again, and known keys do not wait', async () => {
    const waiting: (() => void)[] = [];
    onSleep = () => new Promise((resolve) => waiting.push(() => resolve(undefined)));
    const keys = open();
    await verify(keys, 'old');
    const results: unknown[] = [];
    const all = Array.from({ length: 200 }, (_, index) =>
      verifyNamed(keys, `none ${index}`).then((result) => results.push(result)),
    );
    await vi.waitFor(() => expect(results).toEqual(Array(168).fill('away')));
    expect(await verify(keys, 'old')).toBe('good');
    pass(5000);
    for (const wake of waiting) wake();
    await Promise.all(all);
    expect(results.slice(168)).toEqual(Array(32).fill('ERR_JWKS_NO_MATCHING_KEY'));
    expect(await verify(keys, 'old')).toBe('good');
  });
});

describe('the log has the reason why there are none', () => {
  const failure = (code: HttpFailure['code'], detail: string): HttpFailure => ({ ...refused, code, detail });
  test.each([
    ['no such host', failure('NameNotResolved', 'ENOTFOUND'), '"ENOTFOUND"'],
    ['an untrusted certificate', failure('TlsFailed', 'SELF_SIGNED'), 'no secure connection'],
    ['no answer in time', failure('CallTimeout', ''), 'https://id.example.com did not answer within 5 s'],
    ['an error', answer(500, ''), '/.well-known/openid-configuration answers with HTTP status 500'],
    ['a page', answer(200, '<html>'), 'something that is not JSON'],
    ['other JSON', answer(200, '{}'), 'has no metadata of an issuer'],
  ])('%s', async (_what, given, text) => {
    fault = given;
    const keys = open();
    await keys.metadata().catch(() => undefined);
    pass(6000);
    await keys.metadata().catch(() => undefined);
    expect(logged).toEqual([{ level: 'error', event: 'issuer', error: expect.stringContaining(text) }]);
    fault = undefined;
    pass(6000);
    await keys.metadata().catch(() => undefined);
    expect(logged).toHaveLength(2);
  });

  test.each([
    [issuer, `${issuer}/`, 'with the slash at the end'],
    [`${issuer}/`, issuer, 'without a slash at the end'],
    [issuer, 'https://other.example.com', 'not what CLOUDOPS_HTTP_ISSUER says'],
  ])('%s is set, and the issuer calls itself %s: %s', async (named, own, text) => {
    metadata = { ...metadata, issuer: own };
    await open(named)
      .metadata()
      .catch(() => undefined);
    expect(logged).toMatchObject([{ error: expect.stringContaining(text) }]);
  });
});
