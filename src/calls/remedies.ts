import type { ErrorAdvice, Operation } from '../tools/define-operation.js';
import { callAgain, callAgainFirst, forAgent, type Next, next, operatorMust } from '../tools/next.js';
import type { FailureCode, HttpFailure } from '../transport/http-client.js';
import type { Endpoint } from '../transport/request.js';
import { isPassing, isPassingStatus } from '../transport/retry.js';
import { commonCode, type ServiceError } from '../transport/service-error.js';
import { defined, detail, forReader, own, quoted, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import { regionInHost } from '../util/uri.js';

/** The facts about a call and its error on which the advice depends. */
export interface RemedyFacts {
  /** The operation's name in the API. */
  readonly api: string;
  readonly endpoint: Pick<Endpoint, 'origin' | 'bucketInHost'>;
  readonly takesRegion: boolean;
  readonly account: string;
  readonly retryAfterSeconds?: number | undefined;
  readonly error: ServiceError;
}

type Advice = Next | ((facts: RemedyFacts) => Next);

const askUser = <const Text extends string>(text: Wording<Text>) => next('user', 'ask', text);

const checkWhether = forReader({ agent: 'Ask the user whether', person: 'Check whether' });
const operatorHasTo = forReader({
  agent: 'the person who runs this server has to check',
  person: 'the person who runs this server has to check',
  operator: 'check',
});
const itsMachine = forReader({ agent: 'its machine', person: 'its machine', operator: 'this machine' });

const noPermission = ({ api, account }: RemedyFacts) =>
  askUser(
    say`${forReader({ agent: 'Tell the user that account', person: 'Account' })} ${own(account)} may not do ${own(api)} here. Whoever administers the account can grant it${forAgent('; calling again before that will not help')}.`,
  );

/** `what` completes "The person who runs this server has to check". */
const operatorChecks = <const What extends string>(what: Wording<What>) => operatorMust(say`check ${words(what)}`);

const notOffered = operatorChecks('whether the endpoint (CLOUDOPS_…_URL) supports this operation');
const keys = operatorChecks('CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY, the region and CLOUDOPS_…_SERVICE');
const sessionToken = operatorChecks('CLOUDOPS_SESSION_TOKEN, which is wrong or expired');

const callLater = ({ retryAfterSeconds = 60 }: RemedyFacts) =>
  next(
    'agent',
    'wait',
    say`${callAgainFirst} in about ${Math.min(Math.max(Math.ceil(retryAfterSeconds), 1), 3600)} s.`,
  );

const otherArguments = askUser(
  forReader({
    agent:
      'If what the cloud says names an argument, ask the user which value is meant, and call again with it. Otherwise tell the user what the cloud says.',
    person: 'If what the cloud says names an argument, correct it and try again.',
  }),
);

const inTheWay = next(
  'user',
  'check',
  say`Something stands in the way, such as a name in use or a change that is not finished. ${forReader({ agent: 'Have the user look in the console, and call again only when they say that it is out of the way.', person: 'Look in the console, and try again when it is out of the way.' })}`,
);

/** Arguments take only regions that hosts can have. */
const otherRegion = (region: string, takesRegion: boolean): Next =>
  takesRegion && regionInHost.test(region)
    ? next('agent', 'call', say`The cloud names the region ${quoted(region, 40)}: ${callAgain} with it.`)
    : operatorChecks(say`the region (CLOUDOPS_REGION), because the cloud names ${quoted(region, 40)}`);

/** Redirects are not followed, because the signature is only valid for one address. */
function redirected({ takesRegion, error: { region, host } }: RemedyFacts): Next {
  if (region !== undefined) return otherRegion(region, takesRegion);
  const where = host === undefined ? words('') : say` to ${quoted(host, 200)}`;
  return operatorChecks(say`the address of the endpoint (CLOUDOPS_…_URL), which redirects${where}`);
}

function redirectedToRegion(facts: RemedyFacts): Next {
  const { region, host } = facts.error;
  if (!facts.takesRegion || region !== undefined || host !== undefined) return redirected(facts);
  return askUser(
    say`The cloud names no region. ${forReader({ agent: 'Ask the user for', person: 'Find out' })} the bucket's region, and ${callAgain} with it.`,
  );
}

const wrongScope = ({ takesRegion, error: { region } }: RemedyFacts): Next =>
  region === undefined
    ? operatorChecks('the region (CLOUDOPS_REGION) and CLOUDOPS_…_SERVICE')
    : otherRegion(region, takesRegion);

/** Alibaba OSS, Tencent COS and Huawei OBS accept the bucket only in the host. */
const bucketInHost = ({ endpoint }: RemedyFacts): Next =>
  endpoint.bucketInHost === undefined
    ? operatorMust(
        'set CLOUDOPS_STORAGE_STYLE=virtual, because the store takes the bucket only in the name of the host',
      )
    : operatorChecks(
        'the endpoint (CLOUDOPS_…_URL) and CLOUDOPS_STORAGE_STYLE: the bucket is in the name of the host already',
      );

const refused = ({ account }: RemedyFacts): Next =>
  askUser(
    say`${forReader({ agent: 'Tell the user what the cloud says.', person: 'See what the cloud says.' })} If that names no reason, these can be checked: the keys and the rights of account ${own(account)}, the endpoint (CLOUDOPS_…_URL), and whether a proxy or a firewall answered.`,
  );

/** Some stores refuse access for unpaid bills or expired requests, too. */
const saysOtherReason = ({ message }: ServiceError): boolean =>
  message !== undefined && !/denied|permission|permitted|authori[sz]|allowed|forbid|policy|access to/i.test(message);

/** Advice by the beginning of the error code, in the names of S3 because the API reference names no codes. The first match counts. */
const byCode: Readonly<Record<string, Advice>> = {
  NoSuchBucket: ({ takesRegion }) =>
    takesRegion
      ? askUser(
          say`${checkWhether} the bucket name is right, and which region the bucket is in; then ${callAgain} with them.`,
        )
      : askUser(
          say`${checkWhether} the bucket name is right. If it is, ${operatorHasTo} the region (CLOUDOPS_REGION) and the endpoint (CLOUDOPS_…_URL).`,
        ),
  InvalidBucketName: askUser(
    say`${forReader({ agent: 'Ask the user for', person: 'Find out' })} the right name of the bucket, and ${callAgain} with it.`,
  ),
  SignatureDoesNotMatch: next(
    'operator',
    'configure',
    say`${keys.text} With CLOUDOPS_LOG_LEVEL=debug the log shows what was signed.`,
  ),
  InvalidAccessKeyId: operatorChecks('CLOUDOPS_ACCESS_KEY_ID, and that it belongs to this endpoint'),
  InvalidToken: sessionToken,
  ExpiredToken: sessionToken,
  RequestTimeTooSkewed: operatorChecks(say`the clock of ${itsMachine}: it and the clock of the cloud differ too much`),
  AccessDenied: (facts) => (saysOtherReason(facts.error) ? refused(facts) : noPermission(facts)),
  AuthorizationHeaderMalformed: wrongScope,
  PermanentRedirect: redirectedToRegion,
  TemporaryRedirect: redirectedToRegion,
  SecondLevelDomainForbidden: bucketInHost,
  PathStyleDomainForbidden: bucketInHost,
  VirtualHostDomainRequired: bucketInHost,
  NotImplemented: notOffered,
  MethodNotAllowed: notOffered,
  // The answer of EC2 and KMS to a trial that would have succeeded.
  DryRunOperation: next(
    'user',
    'decide',
    say`${forReader({ agent: 'Tell the user that this', person: 'This' })} was a trial (DryRun): nothing was changed, and the cloud would have accepted it. To carry it out, ${callAgain} without DryRun.`,
  ),
  SlowDown: callLater,
  ServiceUnavailable: callLater,
  'Client.InvalidParameterDuplicate': inTheWay,
  'Client.InvalidParameter': otherArguments,
  'Client.AuthFailurePermission': noPermission,
  'Client.AuthFailure': keys,
  'Client.URLNotFound': askUser(
    say`${checkWhether} the names in the arguments are right. If they are, ${operatorHasTo} the endpoint (CLOUDOPS_…_URL).`,
  ),
};

/** The error codes, or beginnings of error codes, for which there is advice. */
export const knownCodes: readonly string[] = Object.keys(byCode);

/** Some APIs add an ending to their codes. */
const isKnownAs = (code: string, known: string): boolean =>
  known.startsWith('Client.') ? code.startsWith(known) : [known, `${known}Exception`, `${known}Error`].includes(code);

/** The words of Go, nginx, Apache and Tomcat. */
const plainHttpRefused = /HTTP request (was )?(sent )?to (an )?HTTPS|speaking plain HTTP|requires TLS/i;

/** A page that asks for a sign-in may be on another host. */
const isSameHost = (location: string, origin: string): boolean =>
  URL.canParse(location) && new URL(location).hostname === new URL(origin).hostname;

/** Advice for which the answer itself is the evidence, whatever its code says. */
const byEvidence: readonly (readonly [isProved: (facts: RemedyFacts, status: number) => boolean, advice: Advice])[] = [
  [
    ({ endpoint, error: { host = '', message = '' } }, status) =>
      endpoint.origin.startsWith('http:') &&
      ((status < 400 && host.startsWith('https:') && isSameHost(host, endpoint.origin)) ||
        plainHttpRefused.test(message)),
    operatorMust('begin the endpoint (CLOUDOPS_…_URL) with https://, because the cloud answers only to that'),
  ],
  [({ error: { message = '' } }) => /virtual[- ](host|style)/i.test(message), bucketInHost],
  [
    ({ error: { host, message = '' } }, status) => status >= 400 && host !== undefined && /endpoint/i.test(message),
    ({ error: { host = '' } }) =>
      operatorChecks(say`the endpoint (CLOUDOPS_…_URL), because the cloud names ${quoted(host, 200)} for this`),
  ],
];

const byStatus: Readonly<Record<number, Advice>> = {
  400: otherArguments,
  401: keys,
  403: refused,
  404: askUser(
    say`${checkWhether} the names in the arguments and the region are right. If they are, ${operatorHasTo} the endpoint (CLOUDOPS_…_URL).`,
  ),
  405: notOffered,
  407: operatorChecks('HTTPS_PROXY and HTTP_PROXY: the proxy asks for a user name and a password'),
  409: inTheWay,
  426: operatorChecks('whether the endpoint (CLOUDOPS_…_URL) has to begin with https://'),
  429: callLater,
  507: askUser(
    say`${forReader({ agent: 'Tell the user that the', person: 'The' })} store has no room left: calling again helps only when whoever runs it has made room.`,
  ),
  501: notOffered,
  511: operatorChecks('whether the network asks for a sign-in'),
};

/** Finds the advice on an error: the operation's own, or else by evidence in the answer, code, or HTTP status. */
export function remedyFor(
  status: number,
  operationErrors: Operation['errors'],
  facts: RemedyFacts,
): { readonly code: string | undefined; readonly next: Next } {
  // The operation's advice uses the codes of its API. `byCode` uses S3's names for the same errors.
  const { error } = facts;
  const [ownStart, ownAdvice] =
    Object.entries(operationErrors ?? {}).find(([start]) => error.code?.startsWith(start)) ?? [];
  if (ownAdvice !== undefined) return { code: ownStart, next: askUser(errorAdviceText(ownAdvice)) };

  const nameInS3 = commonCode(error) ?? '';
  const [code, adviceOfCode] = Object.entries(byCode).find(([known]) => isKnownAs(nameInS3, known)) ?? [];
  const [, adviceByEvidence] = byEvidence.find(([isProved]) => isProved(facts, status)) ?? [];
  const passing = isPassing(error) ? callLater : undefined;
  const advice = adviceByEvidence ?? adviceOfCode ?? passing ?? byStatus[status] ?? adviceForClass(status);
  return { code, next: typeof advice === 'function' ? advice(facts) : advice };
}

const errorAdviceText = (advice: ErrorAdvice): SafeText =>
  typeof advice === 'string'
    ? defined(advice)
    : forReader({ agent: defined(advice.agent), person: defined(advice.person) });

function adviceForClass(status: number): Advice {
  if (status >= 300 && status < 400) return redirected;
  return status >= 500 || isPassingStatus(status) ? callLater : otherArguments;
}

/** The cause of a missing answer, as the end of a sentence. */
export function httpFailureText({ code, detail: message }: HttpFailure, origin: string): SafeText {
  const problems = {
    NameNotResolved: 'the host name cannot be resolved',
    ConnectionRefused: 'the connection was refused',
    ConnectTimeout: 'no connection was made in time',
    TlsFailed: 'no secure connection could be made',
    ProxyFailed: 'the proxy made no connection',
    ConnectFailed: 'no connection could be made',
    ConnectionLost: 'the connection was lost before the whole answer came',
    ResponseTimeout: 'no answer came in time',
    BodyTimeout: 'the answer stopped midway',
    CallTimeout: 'the time for the whole call (CLOUDOPS_TIMEOUT_MS) ran out',
    Cancelled: 'the client cancelled the call',
    MalformedResponse: 'the answer is not proper HTTP',
    ResponseTooLarge: 'the answer is larger than this server reads',
    BodyIncomplete: 'the answer is incomplete',
  } as const satisfies Record<FailureCode, string>;
  const problem = words(problems[code]);
  // This server ended the exchange itself, so origin and message explain nothing.
  const endedHere: readonly FailureCode[] = ['CallTimeout', 'Cancelled', 'ResponseTooLarge'];
  if (endedHere.includes(code)) return problem;
  // The origin comes from the configuration, so it is shown without quotation marks.
  const originAndMessage = say` (${defined(origin)}: ${quoted(message, 200)})`;
  return say`${problem}${detail(originAndMessage)}`;
}

const tryAgain = next(
  'agent',
  'wait',
  say`${callAgainFirst} in about 60 s. If it fails again, ${forAgent('tell the user that ')}the network or the cloud may be down.`,
);

export const httpFailureRemedies: Readonly<Record<FailureCode, Next>> = {
  NameNotResolved: operatorChecks(say`the endpoint (CLOUDOPS_…_URL) and the name resolution of ${itsMachine}`),
  ConnectionRefused: operatorChecks('the endpoint and its port (CLOUDOPS_…_URL), and whether the cloud is up'),
  ConnectTimeout: operatorChecks('the endpoint (CLOUDOPS_…_URL), the network and HTTPS_PROXY'),
  TlsFailed: operatorChecks(
    'that the endpoint speaks https and that its certificate is trusted (NODE_EXTRA_CA_CERTS adds a CA)',
  ),
  ProxyFailed: operatorChecks(
    'HTTPS_PROXY and HTTP_PROXY: whether the proxy is up, asks for a user name and a password (407), and lets this server through',
  ),
  ConnectFailed: operatorChecks('the endpoint (CLOUDOPS_…_URL), the network and HTTPS_PROXY'),
  ConnectionLost: tryAgain,
  ResponseTimeout: tryAgain,
  BodyTimeout: tryAgain,
  CallTimeout: next(
    'agent',
    'call',
    say`${callAgainFirst} once. If it fails again, ${forReader({ agent: 'tell the user: the person who runs this server can raise', person: 'the person who runs this server can raise', operator: 'raise' })} CLOUDOPS_TIMEOUT_MS.`,
  ),
  Cancelled: next('nobody', 'none', 'Nothing needs to be done.'),
  MalformedResponse: operatorChecks('that the endpoint (CLOUDOPS_…_URL) is the right one'),
  ResponseTooLarge: next(
    'agent',
    'call',
    say`${callAgainFirst} for less at once: fewer entries, a smaller page, or a filter.`,
  ),
  BodyIncomplete: tryAgain,
};
