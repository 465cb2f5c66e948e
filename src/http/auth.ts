import type { IncomingMessage } from 'node:http';
import { type Principal, readScope, scopeOf, scopes as serverScopes, writeScope } from '../calls/policy.js';
import type { Operation } from '../tools/define-operation.js';
import { textAt, valueAt, withoutUndefined } from '../util/objects.js';
import { quoted, say } from '../util/safe-text.js';
import { HttpError, onlyHeader, unavailable } from './http-helpers.js';

/** The result of verifying a bearer token. `reason` has no text of a client. */
export type Authentication =
  | {
      readonly kind: 'authenticated';
      readonly principal: Principal;
      /** Milliseconds since 1970. Absent if the token does not expire. */
      readonly expiresAt?: number;
    }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly reason: string };

export type Authenticate = (token: string) => Promise<Authentication>;

export interface ProtectedResource {
  readonly url: string;
  readonly issuer: string;
  /** The text in front of the scopes' names, such as `api://cloudops/`. */
  readonly scopePrefix: string;
}

/** Without the scope for auditors, because clients request every offered scope. */
const offeredScopes = [readScope, writeScope];

const metadataPath = '/.well-known/oauth-protected-resource';

/** RFC 9728, section 3.1. The path of this resource follows, as clients know it, which a proxy may have changed. */
export const isMetadataPath = (path: string) => path === metadataPath || path.startsWith(`${metadataPath}/`);

/** Tells clients where to get a token (RFC 9728, section 2). */
export const resourceMetadata = ({ url, issuer, scopePrefix }: ProtectedResource) => ({
  resource: url,
  authorization_servers: [issuer],
  scopes_supported: offeredScopes.map((scope) => scopePrefix + scope),
  bearer_methods_supported: ['header'],
  resource_name: 'cloudops-mcp',
});

export type OnFailedLogin = (
  request: { readonly socket: { readonly remoteAddress?: string | undefined } },
  reason: string,
) => void;

/** Authenticates the sender of a request by the bearer token. @throws HttpError */
export async function authenticateRequest(
  request: IncomingMessage,
  authenticate: Authenticate,
  resource: ProtectedResource | undefined,
  onFailedLogin: OnFailedLogin,
): Promise<Principal> {
  const authorization = onlyHeader(request, 'authorization');
  const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (token === undefined) {
    // Clients may ask without the header where to get a token.
    if (authorization !== undefined) onFailedLogin(request, 'no bearer token');
    throw challenge(resource, 401, 'token', 'A bearer token is needed.', { scopes: offeredScopes });
  }

  const authentication = await authenticate(token);
  if (authentication.kind === 'unavailable')
    throw unavailable(authentication.reason, 'The token cannot be verified now.', 5, closeConnection);
  if (authentication.kind === 'invalid') {
    onFailedLogin(request, authentication.reason);
    const needed = { error: 'invalid_token', scopes: offeredScopes };
    throw challenge(resource, 401, 'token', 'The token is not valid here.', needed);
  }

  const { principal } = authentication;
  if (!principal.scopes.some((scope) => serverScopes.includes(scope))) {
    const present = quoted(principal.scopes.join(' '), 200);
    const expected = quoted(readScope, 200);
    onFailedLogin(request, say`scope: the token has ${present}, and this server expects ${expected}`.text);
    const needed = { error: 'insufficient_scope', scopes: [readScope] };
    throw challenge(resource, 403, 'scope', 'The token has no scope of this server.', needed);
  }
  return principal;
}

/** Frees the connection, because connections are limited. */
const closeConnection = { connection: 'close' };

/** Refuses the call of a tool for which the caller lacks the scope. @throws HttpError */
export function checkScope(
  message: unknown,
  principal: Principal,
  tools: readonly Pick<Operation, 'name' | 'effect'>[],
  resource: ProtectedResource | undefined,
): void {
  const calledName = valueAt(message, 'method') === 'tools/call' ? textAt(message, 'params.name') : undefined;
  const tool = tools.find(({ name }) => name === calledName);
  if (tool === undefined || principal.scopes.includes(scopeOf(tool))) return;
  const scope = scopeOf(tool);
  const present = principal.scopes.filter((each) => serverScopes.includes(each));
  const needed = { error: 'insufficient_scope', scopes: [...present, scope] };
  throw challenge(resource, 403, 'scope', `${tool.name} needs the scope ${scope}.`, needed);
}

/** Tells the client how to get a valid token (RFC 6750, section 3; RFC 9728, section 5.1). */
function challenge(
  resource: ProtectedResource | undefined,
  status: number,
  reason: string,
  message: string,
  { error, scopes }: { readonly error?: string; readonly scopes: readonly string[] },
): HttpError {
  const { scopePrefix = '' } = resource ?? {};
  // Without an issuer, only a missing scope helps whoever made the token.
  const namesScopes = resource !== undefined || error === 'insufficient_scope';
  const parameters = withoutUndefined({
    error,
    scope: namesScopes ? scopes.map((scope) => scopePrefix + scope).join(' ') : undefined,
    error_description: error && message,
    resource_metadata: resource && metadataAddress(resource),
  });
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  const headers = { 'www-authenticate': `Bearer ${list.join(', ')}`.trim(), ...(status === 401 && closeConnection) };
  return new HttpError(status, reason, message, headers);
}

/** A proxy may serve this server below a path, and then passes on what follows that path. */
function metadataAddress({ url }: ProtectedResource): string {
  const { origin, pathname } = new URL(url);
  const [, below = ''] = /^(\/.*)\/mcp\/?$/.exec(pathname) ?? [];
  return `${origin}${below}${metadataPath}/mcp`;
}
