import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient, HttpFailure } from '../transport/http-client.js';
import { ShownError } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { exact, join, quoted, type SafeText, say, words } from '../util/safe-text.js';

const networkMs = 5000;
/** Size limit of a document with metadata or keys. */
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
const keysSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(mostKeys) });
type KeySet = z.output<typeof keysSchema>;

export interface FoundIssuer {
  readonly metadata: z.output<typeof metadataSchema>;
  readonly keys: KeySet;
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
  ];
  const problems: SafeText[] = [];
  for (const url of metadataUrls) {
    const document = await fetchJson(url, httpClient);
    const { data: metadata } = metadataSchema.safeParse(document.json);
    if (metadata !== undefined) {
      const { subject_types_supported: types } = metadata;
      const isPairwise = types.length > 0 && types.every((type) => type === 'pairwise');
      return { metadata, keys: await fetchKeysNamedIn(metadata, issuer, httpClient), isPairwise };
    }
    problems.push(say`${exact(url)} ${document.problem ?? words('has no metadata of an issuer')}`);
  }
  throw new IssuerProblem(join(problems, '; '));
}

async function fetchKeysNamedIn(
  metadata: z.output<typeof metadataSchema>,
  issuer: string,
  httpClient: HttpClient,
): Promise<KeySet> {
  const issuerInMetadata = metadata.issuer;
  if (issuerInMetadata !== issuer)
    throw new IssuerProblem(
      say`it calls itself ${quoted(issuerInMetadata, 200)}${spellingHint(issuerInMetadata, issuer)}`,
    );

  const { protocol, origin, href } = new URL(metadata.jwks_uri);
  // An http issuer is allowed only on loopback.
  if (protocol !== 'https:' && origin !== new URL(issuer).origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));

  const document = await fetchJson(href, httpClient);
  const { data: keys } = keysSchema.safeParse(document.json);
  if (keys !== undefined) return keys;
  const problem = document.problem ?? say`has no keys, or more than ${mostKeys}`;
  throw new IssuerProblem(say`${quoted(href, 200)} ${problem}`);
}

function spellingHint(issuerInMetadata: string, issuer: string): SafeText {
  if (issuerInMetadata.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return words(', which is not what CLOUDOPS_HTTP_ISSUER says');
  const how = words(issuerInMetadata.endsWith('/') ? 'with the slash' : 'without a slash');
  return say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`;
}

/** A `problem` is no failure, because the document may be at another path. @throws IssuerProblem */
async function fetchJson(url: string, httpClient: HttpClient): Promise<{ json?: unknown; problem?: SafeText }> {
  const { origin, pathname, search } = new URL(url);
  const headers = { accept: 'application/json' };
  const request = { method: 'GET', origin, path: pathname + search, headers, newConnection: false } as const;
  const response = await httpClient.send(request, AbortSignal.timeout(networkMs));
  if (response.kind === 'failure') throw noAnswer(response, origin);
  if (response.bodyFailure !== undefined) throw noAnswer(response.bodyFailure, origin);
  if (response.status !== 200) return { problem: say`answers with HTTP status ${response.status}` };
  const json = parseJson(response.body);
  return json === undefined ? { problem: words('answers with something that is not JSON') } : { json };
}

const noAnswer = (failure: HttpFailure, origin: string) =>
  new IssuerProblem(
    failure.code === 'CallTimeout'
      ? say`${exact(origin)} did not answer within ${networkMs / 1000} s`
      : httpFailureText(failure, origin),
  );
