import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type RemedyFacts, remedyFor } from '../../src/calls/remedies.js';
import { listParts } from '../../src/tools/list-parts.js';
import { parseBody } from '../../src/transport/parse-body.js';
import { readServiceError } from '../../src/transport/service-error.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

/** The advice on an error of the service. */

const facts = {
  api: 'ListParts',
  endpoint: { origin: 'http://storage.example:9000' },
  takesRegion: true,
  account: 'AKIDEXAMPLE',
  error: {},
};

describe('a wrong clock is told from a wrong signature by the message', () => {
  test.each([
    ['InvalidSignatureException', 'Signature expired: 20261127T000000Z is now earlier than …', 'RequestTimeTooSkewed'],
    ['SignatureDoesNotMatch', 'Signature not yet current: 20261127T010000Z', 'RequestTimeTooSkewed'],
    ['SignatureDoesNotMatch', 'The signature does not match.', 'SignatureDoesNotMatch'],
    ['ValidationException', 'The field signature expired.', undefined],
  ])('%s: %s', (code, message, ours) => {
    expect(remedyFor(403, {}, { ...facts, error: { code, message } }).code).toBe(ours);
  });
});

describe('another region is advised only if the operation has an argument for it', () => {
  const withoutRegion = {
    ...listParts,
    input: () => z.strictObject({ Bucket: z.string() }),
    defaults: [],
    request: () => ({ path: '/bucket' }),
  };
  test.each([
    [301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-1' }, /CLOUDOPS_REGION\), because .* "eu-west-1"\.$/],
    [301, 'PermanentRedirect', {}, /the address of the endpoint/],
    [404, 'NoSuchBucket', {}, /whether the bucket name is right\. If it is, .* has to check the region/],
  ] as const)('%i %s %j', async (status, code, headers, advice) => {
    const server = await startServer((_request, response) =>
      response.writeHead(status, headers).end(`<Error><Code>${code}</Code></Error>`),
    );
    const { call, close } = testCaller(server.origin, { maximumAttempts: 1 });
    const result = await call(withoutRegion, { Bucket: 'bucket' }, { signal: never });
    await close();
    await server.close();
    if (result.ok) throw new Error('it succeeded');
    expect(result.failure.next.text.text).toMatch(advice);
    expect(result.failure.next.text.text).not.toMatch(/with (it|them)\.$/);
  });
});

/** What the answer proves, by its body and headers as they come from the wire. */
describe('the advice names a cause only if the answer proves it', () => {
  const adviceOn = (
    status: number,
    body: string,
    headers: Record<string, string> = {},
    more: Partial<RemedyFacts> = {},
  ) => remedyFor(status, {}, { ...facts, error: readServiceError(parseBody(body), headers), ...more }).next.text.text;
  const error = (code: string, message = '', rest = '') =>
    `<Error><Code>${code}</Code><Message>${message}</Message>${rest}</Error>`;
  const https = { endpoint: { origin: 'https://storage.example' } };

  const beginWithHttps = /has to begin the endpoint \(CLOUDOPS_…_URL\) with https:\/\//;
  const useVirtualStyle = /set CLOUDOPS_STORAGE_STYLE=virtual/;
  const refusedForUnknownReason =
    /what the cloud says\. If that names no reason, these can be checked: .*CLOUDOPS_…_URL/;

  test.each<readonly [string, string, RegExp]>([
    ['a redirect to https', adviceOn(308, '', { location: 'https://storage.example/b' }), beginWithHttps],
    [
      'a redirect to another path',
      adviceOn(302, '', { location: '/login' }),
      /CLOUDOPS_…_URL\), which redirects to "\/login"/,
    ],
    [
      'a redirect over https',
      adviceOn(301, '', { location: 'https://other.example/' }, https),
      /which redirects to "https:\/\/other/,
    ],
    ["Go's server of https", adviceOn(400, 'Client sent an HTTP request to an HTTPS server.'), beginWithHttps],
    [
      "nginx's",
      adviceOn(400, '<html><h1>400</h1>The plain HTTP request was sent to HTTPS port</html>'),
      beginWithHttps,
    ],
    [
      "Apache's",
      adviceOn(400, "<html>You're speaking plain HTTP to an SSL-enabled server port.</html>"),
      beginWithHttps,
    ],
    ["Tomcat's", adviceOn(400, 'Bad Request\nThis combination of host and port requires TLS.'), beginWithHttps],
    ['the same words to a request over https', adviceOn(400, 'it requires TLS', {}, https), /names an argument/],

    ['a store that wants the bucket in the host', adviceOn(403, error('SecondLevelDomainForbidden')), useVirtualStyle],
    ['another one', adviceOn(400, error('PathStyleDomainForbidden')), useVirtualStyle],
    ['a third', adviceOn(403, error('VirtualHostDomainRequired')), useVirtualStyle],
    [
      'one with a code of its own',
      adviceOn(403, error('X', 'Only virtual-hosted requests are served.')),
      useVirtualStyle,
    ],
    ['one with the code of another fault', adviceOn(403, error('AccessDenied', 'Use virtual style.')), useVirtualStyle],
    [
      'one that gets the bucket in the host',
      adviceOn(403, error('VirtualHostDomainRequired'), {}, { endpoint: { origin: 'https://b.x', bucketInHost: 'b' } }),
      /the bucket is in the name of the host already/,
    ],
    [
      'another endpoint',
      adviceOn(403, error('AccessDenied', 'Use the specified endpoint.', '<Endpoint>eu.storage.example</Endpoint>')),
      /CLOUDOPS_…_URL\), because the cloud names "eu\.storage\.example"/,
    ],

    [
      'a region in the text',
      adviceOn(400, error('AuthorizationHeaderMalformed', "the region is wrong; expecting 'eu-9'")),
      /names the region "eu-9": call again with it/,
    ],
    ['no region', adviceOn(400, error('AuthorizationHeaderMalformed')), /CLOUDOPS_REGION\) and CLOUDOPS_…_SERVICE/],
    ['a redirect of S3 without a region', adviceOn(301, error('PermanentRedirect')), /names no region/],
    [
      'a redirect of S3 to a host',
      adviceOn(301, error('PermanentRedirect', '', '<Endpoint>b.eu.example</Endpoint>')),
      /redirects to "b\.eu\.example"/,
    ],

    [
      'a redirect to a sign-in on another host',
      adviceOn(
        302,
        '',
        { location: 'https://login.example/?to=x' },
        { endpoint: { origin: 'http://storage.example' } },
      ),
      /which redirects to "https:\/\/login\.example/,
    ],
    ['no room in the store', adviceOn(507, error('XMinioStorageFull')), /no room left/],
    ['no permission', adviceOn(403, error('AccessDenied')), /may not do ListParts here/],
    ['the same in words', adviceOn(403, error('AccessDenied', 'Access Denied.')), /may not do ListParts here/],
    [
      'access that was taken away',
      adviceOn(403, error('AccessDenied', 'Bucket access was disabled, because bills are unpaid')),
      refusedForUnknownReason,
    ],
    ['the same in another API', adviceOn(400, '{"__type":"AccessDeniedException"}'), /may not do ListParts here/],
    ['403 with an unknown code', adviceOn(403, error('FirewallSaysNo')), refusedForUnknownReason],
    ['403 with a page', adviceOn(403, '<html>Blocked</html>'), refusedForUnknownReason],
    ['403 without a body', adviceOn(403, ''), refusedForUnknownReason],
    [
      'a code that only begins like another',
      adviceOn(404, error('NoSuchBucketPolicy')),
      /names in the arguments and the region are right/,
    ],
    ['405', adviceOn(405, ''), /supports this operation/],
    ['a proxy that wants a user', adviceOn(407, '<html>Proxy</html>'), /HTTPS_PROXY/],
    ['a trouble that passes', adviceOn(400, error('RequestTimeout')), /again in about 60 s/],
    ['the same in words', adviceOn(403, 'Please try again later.'), /again in about 60 s/],
  ])('%s', (_what, advice, expected) => {
    expect(advice).toMatch(expected);
  });
});

describe('what the cloud says in JSON is read', () => {
  test.each<readonly [string, unknown, object]>([
    [
      'a list of errors',
      { success: false, errors: [{ code: 7003, message: 'No route' }] },
      { code: '7003', message: 'No route' },
    ],
    [
      'several',
      {
        errors: [
          { code: 'A', message: 'one' },
          { code: 'B', message: 'two' },
        ],
      },
      { code: 'A', message: 'one; two' },
    ],
    ['texts', { errors: ['one', 'two'] }, { message: 'one; two' }],
    ['an object', { errors: { detail: 'one' } }, { message: 'one' }],
    ['an empty list', { errors: [], message: 'whole' }, { message: 'whole' }],
    ['a list of nothing readable', { errors: [null, 3, {}], code: 'C' }, { code: 'C' }],
    [
      'OAuth',
      { error: 'invalid_token', error_description: 'it expired' },
      { code: 'invalid_token', message: 'it expired' },
    ],
    ['an error that is a text', { error: 'not here' }, { message: 'not here' }],
    [
      'a text beside a message',
      { status: 403, error: 'Forbidden', message: 'by policy' },
      { code: 'Forbidden', message: 'by policy' },
    ],
    ['RFC 9457', { title: 'Denied', detail: 'by policy', status: 403 }, { message: 'by policy' }],
    ['its title', { title: 'Denied' }, { message: 'Denied' }],
    ['an error beside a message', { message: 'whole', error: { code: 'E' } }, { code: 'E', message: 'whole' }],
    ['a number that may be a value', { code: 12, message: 'm' }, { message: 'm' }],
  ])('%s', (_what, json, read) => {
    expect(readServiceError(parseBody(JSON.stringify(json)), {})).toEqual(read);
  });
});
