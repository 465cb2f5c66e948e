import type { FailureCode, HttpFailure } from '../transport/http-client.js';
import { quote } from '../util/quote.js';

const noPermission =
  'The credentials are valid but may not do this. Ask for the permission; trying again will not help.';

/**
 * Advice on errors, by the beginning of the service's code: the first that fits counts. Codes are not in the reference;
 * these were seen on similar services.
 */
const byCode: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Check the bucket name, the region, and that CLOUDOPS_STORAGE_URL is the endpoint that has the bucket.',
  InvalidBucketName: 'Check the bucket name.',
  SignatureDoesNotMatch:
    'Check CLOUDOPS_SECRET_ACCESS_KEY, the region and the signing service name (CLOUDOPS_…_SERVICE). ' +
    'With CLOUDOPS_LOG_LEVEL=debug the log shows what was signed.',
  InvalidAccessKeyId: 'Check CLOUDOPS_ACCESS_KEY_ID and that it belongs to this endpoint.',
  InvalidToken: 'CLOUDOPS_SESSION_TOKEN is wrong or expired.',
  ExpiredToken: 'CLOUDOPS_SESSION_TOKEN is expired.',
  RequestTimeTooSkewed:
    'The clocks of this machine and of the service differ by more than 15 minutes. Set this one right.',
  AccessDenied: noPermission,
  AuthorizationHeaderMalformed:
    'Check the region (CLOUDOPS_REGION or the argument) and the signing service name (CLOUDOPS_…_SERVICE).',
  NotImplemented: 'This endpoint does not support the operation. Check the endpoint in the configuration.',
  SlowDown: 'The service is overloaded. Wait a minute, then try again.',
  ServiceUnavailable: 'The service is overloaded or down. Wait a minute, then try again.',
  'Client.InvalidParameter': 'Check the arguments against the message.',
  'Client.AuthFailurePermission': noPermission,
  'Client.AuthFailure':
    'Check CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY, the region and the signing service name (CLOUDOPS_…_SERVICE).',
  'Client.URLNotFound': 'Check the endpoint in the configuration; if it is right, check the names in the arguments.',
};

const byStatus: Readonly<Record<number, string>> = {
  400: 'Check the arguments against the message.',
  401: 'Check CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY and the region.',
  403: 'Check the credentials, the region, and that they may do this.',
  404: 'Check the names in the arguments, the region, and the endpoint in the configuration.',
  409: 'It conflicts with the present state. Look in the console before trying again.',
  429: 'The service limits the rate of requests. Wait a minute, then try again.',
};

/** The caller's next step, from the service's error code or, failing that, the HTTP status. An operation's own remedies win. */
export function remedyFor(
  own: Readonly<Record<string, string>> | undefined,
  code: string | undefined,
  status: number,
): string {
  const ofCode = [own ?? {}, byCode].flatMap(Object.entries).find(([beginning]) => code?.startsWith(beginning))?.[1];
  if (ofCode !== undefined) return ofCode;
  if (status >= 300 && status < 400)
    return 'The endpoint redirects, which a signed request must not follow. Set the endpoint to its final address.';
  return byStatus[status] ?? (status >= 500 ? 'Try again in a minute.' : 'Check the arguments.');
}

/** The reason for a missing answer, as the end of a sentence. */
export function httpFailureText({ code, detail }: HttpFailure, origin: string): string {
  const problem: Record<FailureCode, string> = {
    NameNotResolved: `the host name of ${origin} cannot be resolved`,
    ConnectionRefused: `${origin} refused the connection`,
    ConnectTimeout: `${origin} did not accept a connection in time`,
    TlsFailed: `no secure connection to ${origin} could be made`,
    ConnectFailed: `no connection to ${origin} could be made`,
    ConnectionLost: `the connection to ${origin} was lost before the whole answer came`,
    ResponseTimeout: `${origin} did not answer in time`,
    BodyTimeout: `the answer of ${origin} stopped midway`,
    CallTimeout: 'the time for the whole call (CLOUDOPS_TIMEOUT_MS) ran out',
    Cancelled: 'the client cancelled the call',
    MalformedResponse: `the answer of ${origin} is not proper HTTP`,
    ResponseTooLarge: `the answer of ${origin} is larger than this server reads`,
    BodyIncomplete: `the answer of ${origin} is incomplete`,
  };
  const ownWords: readonly FailureCode[] = ['CallTimeout', 'Cancelled', 'ResponseTooLarge'];
  return ownWords.includes(code) ? problem[code] : `${problem[code]} (${quote(detail, 200)})`;
}

const tryAgain = 'Try again in a minute. If it happens again, check the network and whether the service is up.';

export const httpFailureRemedies: Readonly<Record<FailureCode, string>> = {
  NameNotResolved: 'Check the endpoint in the configuration (CLOUDOPS_…_URL) and the name resolution of this machine.',
  ConnectionRefused:
    'Check the endpoint and its port in the configuration (CLOUDOPS_…_URL), and whether the service is up.',
  ConnectTimeout: 'Check the endpoint, the network and HTTPS_PROXY, then try again.',
  TlsFailed:
    'Check that the endpoint speaks https and that its certificate is trusted (NODE_EXTRA_CA_CERTS adds a CA).',
  ConnectFailed: 'Check the endpoint, the network and HTTPS_PROXY, then try again.',
  ConnectionLost: tryAgain,
  ResponseTimeout: tryAgain,
  BodyTimeout: tryAgain,
  CallTimeout: 'Try again, or raise CLOUDOPS_TIMEOUT_MS.',
  Cancelled: 'Nothing needs to be done.',
  MalformedResponse: 'Check that the endpoint in the configuration is the right one, then try again.',
  ResponseTooLarge: 'Ask for less at once, for example with a smaller maxParts.',
  BodyIncomplete: tryAgain,
};
