import type { Operation } from '../tools/define-operation.js';
import { type Next, next } from '../tools/next.js';
import type { FailureCode, HttpFailure } from '../transport/http-client.js';
import type { Endpoint } from '../transport/request.js';
import { isPassing, isPassingStatus } from '../transport/retry.js';
import { commonCode, type ServiceError } from '../transport/service-error.js';
import { defined, forReader, own, quoted, type SafeText, say } from '../util/safe-text.js';
import { regionInHost } from '../util/uri.js';
import { filled, nextOf, type Step, type Values } from './refusal.js';
import table from './steps.json' with { type: 'json' };

/** This file chooses the step after an error of the cloud or of the network. */

type StepName = keyof typeof table.steps;

export const httpFailures: Readonly<
  Record<FailureCode, Step & { readonly problem: string; readonly endedHere?: boolean }>
> = table.failures;
/** Names of steps, or of choices among steps. Some codes are beginnings of codes. */
const stepByCode: Readonly<Record<string, string>> = table.codes;
const stepByStatus: Readonly<Record<string, string>> = table.statuses;
const isStepName = (name: string): name is StepName => Object.hasOwn(table.steps, name);

export const stepNamed = (name: StepName, values?: Values): Next => nextOf(table.steps[name], values);

export interface RemedyFacts {
  readonly api: string;
  readonly endpoint: Pick<Endpoint, 'origin' | 'bucketInHost'>;
  readonly takesRegion: boolean;
  readonly account: string;
  readonly retryAfterSeconds?: number | undefined;
  readonly error: ServiceError;
}

/** Arguments take only regions that hosts can have. */
const namedRegion = ({ takesRegion, error: { region = '' } }: RemedyFacts) =>
  takesRegion && regionInHost.test(region) ? 'otherRegion' : 'configuredRegion';

/** Redirects are not followed, because the signature is only valid for one address. */
function redirected(facts: RemedyFacts): string {
  const { region, host } = facts.error;
  if (region !== undefined) return namedRegion(facts);
  return host === undefined ? 'redirected' : 'redirectedToHost';
}

const choices: Readonly<Record<string, (facts: RemedyFacts) => string>> = {
  noSuchBucket: ({ takesRegion }) => (takesRegion ? 'noSuchBucketInRegion' : 'noSuchBucketHere'),
  /** Some stores refuse access for unpaid bills or expired requests, too. */
  accessDenied: ({ error: { message } }) =>
    message === undefined || /denied|permission|permitted|authori[sz]|allowed|forbid|policy|access to/i.test(message)
      ? 'noPermission'
      : 'refused',
  wrongScope: (facts) => (facts.error.region === undefined ? 'wrongScope' : namedRegion(facts)),
  /** Alibaba OSS, Tencent COS and Huawei OBS accept the bucket only in the host. */
  bucketInHost: ({ endpoint }) => (endpoint.bucketInHost === undefined ? 'virtualStyle' : 'bucketIsInHost'),
  redirected,
  redirectedToRegion: (facts) => {
    const { takesRegion, error } = facts;
    return takesRegion && error.region === undefined && error.host === undefined ? 'unknownRegion' : redirected(facts);
  },
};

function stepOf(name: string, facts: RemedyFacts): Next {
  const { api, account, error, retryAfterSeconds = 60 } = facts;
  const chosen = choices[name]?.(facts) ?? name;
  return stepNamed(isStepName(chosen) ? chosen : 'otherArguments', {
    api: own(api),
    account: own(account),
    region: quoted(error.region ?? '', 40),
    host: quoted(error.host ?? '', 200),
    seconds: say`${Math.min(Math.max(Math.ceil(retryAfterSeconds), 1), 3600)}`,
  });
}

/** The error codes, or beginnings of error codes, for which there is advice. */
export const knownCodes: readonly string[] = Object.keys(stepByCode);

function stepByEvidence(status: number, { endpoint: { origin }, error }: RemedyFacts): string | undefined {
  const { host = '', message = '' } = error;
  const leadsToHttps =
    status < 400 &&
    host.startsWith('https:') &&
    URL.canParse(host) &&
    // A page that asks for a sign-in may be on another host.
    new URL(host).hostname === new URL(origin).hostname;
  // The words of Go, nginx, Apache and Tomcat.
  const refusesHttp = /HTTP request (was )?(sent )?to (an )?HTTPS|speaking plain HTTP|requires TLS/i.test(message);
  if (origin.startsWith('http:') && (leadsToHttps || refusesHttp)) return 'https';
  if (/virtual[- ](host|style)/i.test(message)) return 'bucketInHost';
  return status >= 400 && host !== '' && /endpoint/i.test(message) ? 'otherEndpoint' : undefined;
}

/** Finds the advice on an error: the operation's own, or else by evidence in the answer, code, or HTTP status. */
export function remedyFor(
  status: number,
  operationErrors: Operation['errors'],
  facts: RemedyFacts,
): { readonly code: string | undefined; readonly next: Next } {
  // The table has S3's codes, because the API reference has none.
  const { error } = facts;
  const [ownStart, ownAdvice] =
    Object.entries(operationErrors ?? {}).find(([start]) => error.code?.startsWith(start)) ?? [];
  if (ownAdvice !== undefined) {
    const { agent, person } = typeof ownAdvice === 'string' ? { agent: ownAdvice, person: ownAdvice } : ownAdvice;
    const text = forReader({ agent: defined(agent), person: defined(person) });
    return { code: ownStart, next: next('user', 'ask', text) };
  }

  const nameInS3 = commonCode(error) ?? '';
  const code = knownCodes.find((known) =>
    known.startsWith('Client.')
      ? nameInS3.startsWith(known)
      : // Some APIs add an ending to their codes.
        [known, `${known}Exception`, `${known}Error`].includes(nameInS3),
  );
  const stepOfCode = code === undefined ? undefined : stepByCode[code];
  const stepOfStatus = isPassing(error) ? 'later' : (stepByStatus[status] ?? stepForClass(status));
  return { code, next: stepOf(stepByEvidence(status, facts) ?? stepOfCode ?? stepOfStatus, facts) };
}

function stepForClass(status: number): string {
  if (status >= 300 && status < 400) return 'redirected';
  return status >= 500 || isPassingStatus(status) ? 'later' : 'otherArguments';
}

export const stepAfterFailure = (code: FailureCode): Next => nextOf(httpFailures[code]);

/** The cause of a missing answer, as the end of a sentence. */
export function httpFailureText({ code, detail: message }: HttpFailure, origin: string): SafeText {
  const { problem, endedHere } = httpFailures[code];
  // This server ended the exchange itself, so origin and message explain nothing.
  if (endedHere === true) return filled(problem);
  // The origin comes from the configuration, so it is shown without quotation marks.
  return say`${filled(problem)} (${defined(origin)}: ${quoted(message, 200)})`;
}
