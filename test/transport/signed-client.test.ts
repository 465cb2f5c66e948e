import { expect, test, vi } from 'vitest';
import { fixedKeys } from '../../src/signing/keys.js';
import { s3Profile } from '../../src/signing/signature-variants.js';
import type { HttpClient, HttpFailure, HttpResponse } from '../../src/transport/http-client.js';
import { encodeRequest } from '../../src/transport/request.js';
import { createSignedClients, NotSent } from '../../src/transport/signed-client.js';
import type { Span } from '../../src/util/trace.js';

const secret = 'a-secret+key/of-forty-characters-in-tests';
const lost: HttpFailure = { kind: 'failure', code: 'ConnectionLost', detail: `ECHO: ${secret}`, mayHaveArrived: true };
const answered: HttpResponse = { kind: 'response', status: 400, headers: {}, body: '{}' };

const clientFor = (result: HttpResponse | HttpFailure, maximumAttempts = 1) =>
  clientWith({ send: async () => result, close: async () => undefined }, maximumAttempts);

const clientWith = (httpClient: HttpClient, maximumAttempts = 1) =>
  createSignedClients({
    httpClient,
    now: () => new Date('2026-11-21T12:00:00Z'),
    sleep: async () => undefined,
    random: () => 0.5,
    log: () => undefined,
    timeoutMs: 60_000,
    maximumAttempts,
  });

const endpointOf = (secretAccessKey: string, sessionToken?: string) => ({
  origin: 'https://storage.example.com',
  pathPrefix: '',
  region: 'jp-east-1',
  service: 's3',
  profile: s3Profile,
  account: 'default',
  keys: fixedKeys({
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
  }),
});

const request = encodeRequest('GET', { path: '/' }, { pathPrefix: '' });

const options = (...secretArguments: readonly string[]) => ({
  repeatable: false,
  secretArguments,
  signal: new AbortController().signal,
});

test.each<[string, HttpResponse | HttpFailure]>([
  ['its header', { ...answered, headers: { 'x-echo': secret } }],
  ['its JSON', { ...answered, body: JSON.stringify({ echo: secret }) }],
  ['its XML, between comments', { ...answered, body: `<E><M>${secret.replace('forty', '<!-- -->forty')}</M></E>` }],
  ['its text', { ...answered, body: `echo ${secret}` }],
  ['why it is incomplete', { ...answered, bodyFailure: lost }],
  ['why there is none', lost],
])('a reply that holds a secret is given without it: %s', async (_where, result) => {
  using client = clientFor(result)(endpointOf(secret), options());
  const reply = await client.send(request);
  const told = JSON.stringify(reply);
  expect(told).toContain('[removed: it held a secret]');
  expect(told).not.toMatch(/a-secret|forty|in-tests/);
});

test('what is read from the text of a reply is given without secrets', async () => {
  using client = clientFor({ ...answered, body: `echo ${secret}` })(endpointOf(secret), options());
  const reply = await client.send(request);
  const read = reply.kind === 'answered' && (await reply.readText((text) => ({ text, length: text.length })));
  expect(read).toEqual({ text: '[removed: it held a secret]', length: 5 + secret.length });
});

test('a request is not sent again if the process was suspended in the pause until after the limit of the call', async () => {
  let time = Date.parse('2026-11-21T12:00:00Z');
  const send = vi.fn(async () => ({ ...answered, status: 429 }));
  const openClient = createSignedClients({
    httpClient: { send, close: async () => undefined },
    now: () => new Date(time),
    sleep: async () => {
      time += 15 * 60_000;
    },
    random: () => 0.5,
    log: () => undefined,
    timeoutMs: 60_000,
    maximumAttempts: 4,
  });
  using client = openClient(endpointOf(secret), options());
  expect(await client.send(request)).toMatchObject({ kind: 'answered', response: { status: 429 } });
  expect(send).toHaveBeenCalledOnce();
});

test('an answer holds no secret of keys that another request of the call got meanwhile', async () => {
  const keysOf = (secretAccessKey: string) => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey });
  const current = vi.fn(async () => keysOf('the-key-of-later-requests'));
  current.mockResolvedValueOnce(keysOf('the-key-of-the-first-request'));
  let answerFirst = (_answer: HttpResponse) => {};
  const send = vi.fn(async (): Promise<HttpResponse> => answered);
  send.mockReturnValueOnce(
    new Promise((resolve) => {
      answerFirst = resolve;
    }),
  );
  const createClient = clientWith({ send, close: async () => undefined });
  using client = createClient({ ...endpointOf(secret), keys: { ...endpointOf(secret).keys, current } }, options());
  const first = client.send(request);
  await vi.waitFor(() => expect(send).toHaveBeenCalledOnce());
  await client.send(request);
  answerFirst({ ...answered, body: '{"echo":"the-key-of-later-requests"}' });
  expect(JSON.stringify(await first)).not.toContain('the-key-of-later-requests');
});

test('a request that was answered is not called unsent because its repetition cannot be signed', async () => {
  const endpoint = endpointOf(secret);
  const current = vi.fn(endpoint.keys.current).mockImplementationOnce(endpoint.keys.current);
  current.mockRejectedValue(new Error('no keys'));
  using client = clientFor({ ...answered, status: 429 }, 3)(
    { ...endpoint, keys: { ...endpoint.keys, current } },
    options(),
  );
  expect(await client.send(request)).toMatchObject({ kind: 'answered', response: { status: 429 }, attempts: [{}] });
  await expect(client.send(request)).rejects.toThrow(NotSent);
});

test('each span of a request ends, and a request that cannot be signed has none', async () => {
  const events: string[] = [];
  const span: Span = {
    child: () => {
      events.push('started');
      return span;
    },
    end: (_attributes, error) => events.push(`ended with ${error}`),
  };
  const endpoint = endpointOf(secret);
  using client = clientFor(answered)(endpoint, { ...options(), span });
  await client.send(request);
  const keys = { ...endpoint.keys, current: () => Promise.reject(new Error('the program ended with exit code 1')) };
  using unsigned = clientFor(answered)({ ...endpoint, keys }, { ...options(), span });
  await expect(unsigned.send(request)).rejects.toThrow(NotSent);
  expect(events).toEqual(['started', 'ended with 400']);
});
