import type { IncomingMessage } from 'node:http';
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { type Principal, readScope, scopeOf, writeScope } from '../calls/principal.js';
import type { Operation } from '../tools/define-operation.js';
import type { Authenticate } from './auth.js';
import { HttpError, unavailable } from './http-error.js';

/** The URL that tokens of an OAuth issuer are for, and the issuer. */
export interface ProtectedResource {
  readonly url: string;
  readonly issuer: string;
}

const metadataPath = '/.well-known/oauth-protected-resource';

/** Where clients look for the metadata of the resource: at the root, and for the path `/mcp` (RFC 9728, section 3.1). */
export const isMetadataPath = (path: string) => path === metadataPath || path === `${metadataPath}/mcp`;

/** Tells clients where to get a token (RFC 9728, section 2). */
export const resourceMetadata = ({ url, issuer }: ProtectedResource) => ({
  resource: url,
  authorization_servers: [issuer],
  scopes_supported: [readScope, writeScope],
  bearer_methods_supported: ['header'],
  resource_name: 'cloudops-mcp',
});

/**
 * A browser must not be talked into reaching a server that its user can reach (DNS rebinding).
 * @throws HttpError
 */
export function checkHostAndOrigin({ headers }: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(headers.host, [...hosts]).ok)
    throw new HttpError(403, 'host', 'The Host header names a host that is not allowed here.');
  if (!validateOriginHeader(headers.origin, [...hosts]).ok)
    throw new HttpError(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/**
 * Who sends the request.
 * @throws HttpError
 */
export async function authenticateRequest(
  request: IncomingMessage,
  authenticate: Authenticate,
  resource: ProtectedResource | undefined,
): Promise<Principal> {
  const [, token] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (token === undefined) throw challenge(resource, 401, 'token', 'A bearer token is needed.');
  const principal = await authenticate(token);
  if (principal === 'unavailable') throw unavailable('issuer', 'The token cannot be verified now.', 5);
  if (principal === 'invalid')
    throw challenge(resource, 401, 'token', 'The token is not valid here.', { error: 'invalid_token' });
  if (!principal.scopes.some((scope) => scope === readScope || scope === writeScope))
    throw challenge(resource, 403, 'scope', 'The token has no scope of this server.', insufficient(readScope));
  return principal;
}

const toolCall = z.object({ method: z.literal('tools/call'), params: z.object({ name: z.string() }) });

/**
 * A tool that the caller's scopes leave out is not listed. A call of it is told which scope is missing.
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

const insufficient = (scope: string) => ({ error: 'insufficient_scope', scope });

/** An error that tells the client how to do better (RFC 6750, section 3; RFC 9728, section 5.1). */
function challenge(
  resource: ProtectedResource | undefined,
  status: number,
  reason: string,
  message: string,
  fields: Readonly<Record<string, string>> = {},
): HttpError {
  const metadata = resource && { resource_metadata: `${new URL(resource.url).origin}${metadataPath}/mcp` };
  const given = Object.entries({ ...fields, ...(fields.error && { error_description: message }), ...metadata });
  const header = `Bearer ${given.map(([name, value]) => `${name}="${value}"`).join(', ')}`.trim();
  return new HttpError(status, reason, message, { 'www-authenticate': header });
}
