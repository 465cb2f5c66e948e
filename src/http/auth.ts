import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { type Principal, readScope, scopeOf, scopes, writeScope } from '../calls/policy.js';
import type { Operation } from '../tools/define-operation.js';
import { HttpError, unavailable } from './http-helpers.js';

/** The owner of a bearer token. Reasons are fixed words for the log, never text of a client. */
export type Authentication =
  | {
      readonly kind: 'authenticated';
      readonly principal: Principal;
      /** Milliseconds since 1970; absent if the token does not expire. */
      readonly expiresAt?: number;
    }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly reason: string };

export type Authenticate = (token: string) => Promise<Authentication>;

/** The URL that tokens of an OAuth issuer are for, and the issuer. */
export interface ProtectedResource {
  readonly url: string;
  readonly issuer: string;
}

/** The scopes that clients are told to ask for. They ask for all of them, so that scopes for the few who audit are not among them. */
const callerScopes = [readScope, writeScope];

const metadataPath = '/.well-known/oauth-protected-resource';

/** Clients look for the metadata of the resource at the root and for the path `/mcp` (RFC 9728, section 3.1). */
export const isMetadataPath = (path: string) => path === metadataPath || path === `${metadataPath}/mcp`;

/** Tells clients where to get a token (RFC 9728, section 2). */
export const resourceMetadata = ({ url, issuer }: ProtectedResource) => ({
  resource: url,
  authorization_servers: [issuer],
  scopes_supported: callerScopes,
  bearer_methods_supported: ['header'],
  resource_name: 'cloudops-mcp',
});

/** Called when a login fails, with the reason. */
export type OnFailedLogin = (
  request: { readonly socket: { readonly remoteAddress?: string | undefined } },
  reason: string,
) => void;

/**
 * The sender of a request.
 * @throws HttpError
 */
export async function authenticateRequest(
  request: IncomingMessage,
  authenticate: Authenticate,
  resource: ProtectedResource | undefined,
  onFailedLogin: OnFailedLogin,
): Promise<Principal> {
  const { authorization } = request.headers;
  const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (token === undefined) {
    // A request without a login is no failed one: clients learn from the answer to it where to get a token.
    if (authorization !== undefined) onFailedLogin(request, 'no bearer token');
    throw challenge(resource, 401, 'token', 'A bearer token is needed.', wanted(resource));
  }
  const authentication = await authenticate(token);
  if (authentication.kind === 'unavailable')
    throw unavailable(authentication.reason, 'The token cannot be verified now.', 5);
  if (authentication.kind === 'invalid') {
    onFailedLogin(request, authentication.reason);
    throw challenge(resource, 401, 'token', 'The token is not valid here.', {
      error: 'invalid_token',
      ...wanted(resource),
    });
  }
  const { principal } = authentication;
  if (!principal.scopes.some((scope) => scopes.includes(scope)))
    throw challenge(resource, 403, 'scope', 'The token has no scope of this server.', insufficient(readScope));
  return principal;
}

const toolCall = z.object({ method: z.literal('tools/call'), params: z.object({ name: z.string() }) });

/**
 * A tool that the caller's scopes leave out is not listed. A call of it is answered with the scope that is missing.
 * @throws HttpError
 */
export function checkScope(
  message: unknown,
  principal: Principal,
  operations: readonly Operation[],
  resource: ProtectedResource | undefined,
): void {
  const { data } = toolCall.safeParse(message);
  const operation = operations.find(({ name }) => name === data?.params.name);
  if (operation === undefined || principal.scopes.includes(scopeOf(operation))) return;
  const scope = scopeOf(operation);
  throw challenge(resource, 403, 'scope', `${operation.name} needs the scope ${scope}.`, insufficient(scope));
}

/** The scopes to ask the issuer for. Tokens of a file have theirs already. */
const wanted = (resource: ProtectedResource | undefined) =>
  resource === undefined ? undefined : { scope: callerScopes.join(' ') };

const insufficient = (scope: string) => ({ error: 'insufficient_scope', scope });

/** An error that tells the client how to do better (RFC 6750, section 3; RFC 9728, section 5.1). */
function challenge(
  resource: ProtectedResource | undefined,
  status: number,
  reason: string,
  message: string,
  fields: Readonly<Record<string, string>> | undefined = {},
): HttpError {
  const metadata = resource && { resource_metadata: `${new URL(resource.url).origin}${metadataPath}/mcp` };
  const given = Object.entries({ ...fields, ...(fields.error && { error_description: message }), ...metadata });
  const header = `Bearer ${given.map(([name, value]) => `${name}="${value}"`).join(', ')}`.trim();
  return new HttpError(status, reason, message, { 'www-authenticate': header });
}
