import { expect, test } from 'vitest';
import { s3Profile } from '../../src/signing/profiles.js';
import type { HttpFailure, HttpResponse } from '../../src/transport/http-client.js';
import { createSignedClient } from '../../src/transport/signed-client.js';

const secret = 'a-secret+key/of-forty-characters-in-tests';
const lost: HttpFailure = { kind: 'failure', code: 'ConnectionLost', detail: `ECHO: ${secret}`, mayHaveArrived: true };
const answered: HttpResponse = { kind: 'response', status: 400, headers: {}, body: '{}' };

test.each<[string, HttpResponse | HttpFailure]>([
  ['its header', { ...answered, headers: { 'x-echo': secret } }],
  ['its JSON', { ...answered, body: JSON.stringify({ echo: secret }) }],
  ['its XML, between comments', { ...answered, body: `<E><M>${secret.replace('forty', '<!-- -->forty')}</M></E>` }],
  ['its text', { ...answered, body: `echo ${secret}` }],
  ['why it is incomplete', { ...answered, bodyFailure: lost }],
  ['why there is none', lost],
])('a reply that holds a secret is given without it: %s', async (_where, result) => {
  using client = createSignedClient(
    {
      origin: 'https://storage.example.com',
      pathPrefix: '',
      region: 'jp-east-1',
      service: 's3',
      profile: s3Profile,
      credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: secret },
    },
    { repeatable: false, secrets: [secret], signal: new AbortController().signal },
    {
      httpClient: { send: async () => result, close: async () => undefined },
      now: () => new Date('2026-11-21T12:00:00Z'),
      sleep: async () => undefined,
      random: () => 0.5,
      log: () => undefined,
      timeoutMs: 1000,
      maximumAttempts: 1,
    },
  );
  const reply = await client.send({ method: 'GET', path: '/', query: {} });
  const told = JSON.stringify(reply);
  expect(told).toContain('[removed: it held a secret]');
  expect(told).not.toMatch(/a-secret|forty|in-tests/);
});
