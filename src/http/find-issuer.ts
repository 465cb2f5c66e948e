import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient, HttpFailure } from '../transport/http-client.js';
import { ShownError } from '../util/log.js';
import { isObject, parseJson } from '../util/objects.js';
import { distinct, exact, join, quoted, type SafeText, say, words } from '../util/safe-text.js';

const networkMs = 5000;
export const documentBytes = 1024 * 1024;

/** Thrown if the issuer's metadata or keys are not available. */
export class IssuerProblem extends ShownError {}

/** Keeps unknown fields, because signing in needs more of the metadata. */
const metadataSchema = z
  .object({
    issuer: z.string(),
    jwks_uri: z.url(),
    /** Only OpenID Connect Discovery requires this field. */
    subject_types_supported: z.array(z.string()).catch([]),
  })
  .catchall(z.json());
/** A token that names no key is tried with each key. */
const mostKeys = 100;
const keysSchema = z.object({
  keys: z
    .array(z.unknown())
    .max(mostKeys)
    .transform((keys) => keys.filter(isObject)),
});

export interface FoundIssuer {
  readonly metadata: Metadata;
  readonly keys: z.output<typeof keysSchema>;
  /** True if each client gets other subjects (`sub`) for the same people. */
  readonly isPairwise: boolean;
}

/** Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery). @throws IssuerProblem */
export async function findIssuer(issuer: string, httpClient: HttpClient): Promise<FoundIssuer> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const metadataUrls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  const metadata = await firstMetadata(new Set(metadataUrls), issuer, httpClient);

  const { protocol, origin: keysOrigin, href } = new URL(metadata.jwks_uri);
  // An http issuer is allowed only on loopback.
  if (protocol !== 'https:' && keysOrigin !== origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));
  const { data: keys } = keysSchema.safeParse(await fetchJson(href, httpClient));
  if (keys === undefined) throw new IssuerProblem(say`${quoted(href, 200)} has no keys, or more than ${mostKeys}`);

  const { subject_types_supported: types } = metadata;
  return { metadata, keys, isPairwise: types.length > 0 && types.every((type) => type === 'pairwise') };
}

type Metadata = z.output<typeof metadataSchema>;

/** @throws IssuerProblem with the problems of all places */
async function firstMetadata(urls: Iterable<string>, issuer: string, httpClient: HttpClient): Promise<Metadata> {
  const problems: SafeText[] = [];
  for (const url of urls) {
    try {
      const { data: metadata } = metadataSchema.safeParse(await fetchJson(url, httpClient));
      if (metadata?.issuer === issuer) return metadata;
      problems.push(
        metadata === undefined
          ? say`${exact(url)} has no metadata of an issuer`
          : say`it calls itself ${quoted(metadata.issuer, 200)}${spellingHint(metadata.issuer, issuer)}`,
      );
    } catch (error) {
      if (!(error instanceof IssuerProblem)) throw error;
      problems.push(error.shown);
    }
  }
  throw new IssuerProblem(join(distinct(problems), '; '));
}

function spellingHint(issuerInMetadata: string, issuer: string): SafeText {
  if (issuerInMetadata.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return words(', which is not what CLOUDOPS_HTTP_ISSUER says');
  const how = words(issuerInMetadata.endsWith('/') ? 'with the slash' : 'without a slash');
  return say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`;
}

/** @throws IssuerProblem */
async function fetchJson(url: string, httpClient: HttpClient): Promise<unknown> {
  const response = await fetchFromIssuer(httpClient, url, { headers: { accept: 'application/json' } });
  if (response.status !== 200) throw new IssuerProblem(say`${exact(url)} answers with HTTP status ${response.status}`);
  const json = parseJson(await response.text());
  if (json === undefined) throw new IssuerProblem(say`${exact(url)} answers with something that is not JSON`);
  return json;
}

/** Sends a request with our HTTP client, which follows no redirects. @throws IssuerProblem */
export async function fetchFromIssuer(
  httpClient: HttpClient,
  url: string,
  {
    method,
    headers,
    body,
    signal = AbortSignal.timeout(networkMs),
  }: {
    readonly method?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Response> {
  const { origin, pathname, search } = new URL(url);
  const request = { origin, path: pathname + search, headers, newConnection: false };
  const answer = await httpClient.send(
    method === 'POST' ? { ...request, method, body: String(body ?? '') } : { ...request, method: 'GET' },
    signal,
  );
  if (answer.kind === 'failure') throw noAnswer(answer, origin);
  if (answer.bodyFailure !== undefined) throw noAnswer(answer.bodyFailure, origin);
  const { body: text, status, headers: received } = answer;
  return new Response(text === '' ? null : text, { status, headers: received });
}

const noAnswer = (failure: HttpFailure, origin: string) =>
  new IssuerProblem(
    failure.code === 'CallTimeout'
      ? say`${exact(origin)} did not answer within ${networkMs / 1000} s`
      : httpFailureText(failure, origin),
  );
