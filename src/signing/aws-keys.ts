import {
  fromHttp,
  fromInstanceMetadata,
  fromSSO,
  fromTemporaryCredentials,
  fromTokenFile,
} from '@aws-sdk/credential-providers';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { fileFault } from '../util/log.js';
import { textAt, valueAt } from '../util/objects.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import type { AwsClient, RoleOrigin, ServiceOrigin } from './key-origins.js';
import { type KeySource, KeysUnavailable, refusedKeyCodes, type TemporaryKeys, wholeCredentials } from './keys.js';
import type { Credentials } from './sign.js';

/** Gets keys by the AWS SDK. Loaded at the first use, because the SDK is large and most servers never need it. */

/** Without a log, the SDK writes to stderr, and may repeat what a service has answered. */
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** The time limit (ms) is for each request to a container or instance. */
const nearby = { timeout: 1000, maxRetries: 1, logger };
/** For all requests of one answer. */
const longestWaitMs = 10_000;

/**
 * Asks a service for keys. The SDK's message is left out, because it may hold what a service has answered.
 * @throws KeysUnavailable
 */
export async function readAwsKeys(
  origin: ServiceOrigin | RoleOrigin<KeySource>,
  stop: AbortSignal,
): Promise<TemporaryKeys> {
  using limit = timeLimit(longestWaitMs, stop);
  const { signal } = limit;
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const unavailable = (problem: SafeText) => new KeysUnavailable(say`${origin.name} ${problem}`, origin.remedy);
  const found = await Promise.race([ask(origin, signal), aborted]).catch((error: unknown) => {
    if (error instanceof KeysUnavailable) throw error;
    if (signal.aborted) throw unavailable(say`did not answer within ${longestWaitMs / 1000} seconds`);
    throw unavailable(say`gave no keys${faultOf(error)}`);
  });
  const credentials = wholeCredentials(found);
  if (credentials === undefined) throw unavailable(words('gave keys that cannot be used'));
  return { credentials, expiresAt: found.expiration };
}

function ask(origin: ServiceOrigin | RoleOrigin<KeySource>, signal: AbortSignal) {
  switch (origin.use) {
    case 'container':
      return fromHttp(nearby)();
    case 'instance':
      return fromInstanceMetadata(nearby)();
    case 'SSO':
      return fromSSO({ ...origin.options, clientConfig: clientConfig(origin.client, signal), logger })();
    case 'web identity':
      return fromTokenFile({ ...origin.options, clientConfig: clientConfig(origin.client, signal), logger })();
    case 'role':
      return assumeRole(origin, signal);
  }
}

/** If the service refuses the source's keys, tries once with the source's new keys. */
async function assumeRole({ source, params, client }: RoleOrigin<KeySource>, signal: AbortSignal) {
  const assumeWith = (masterCredentials: Credentials) =>
    fromTemporaryCredentials({ params, masterCredentials, clientConfig: clientConfig(client, signal), logger })();
  const keys = await source.current();
  return assumeWith(keys).catch(async (error: unknown) => {
    const areRefused = refusedKeyCodes.test(textAt(error, 'name') ?? '');
    const others = areRefused ? await source.renewed(keys) : undefined;
    if (others === undefined) throw error;
    return assumeWith(others);
  });
}

function clientConfig({ region, endpoint }: AwsClient, signal: AbortSignal) {
  const handler = new NodeHttpHandler({ connectionTimeout: 2000 });
  const requestHandler: Pick<NodeHttpHandler, 'handle' | 'metadata'> = {
    metadata: handler.metadata,
    handle: (request, options) => handler.handle(request, { ...options, abortSignal: signal }),
  };
  return {
    requestHandler,
    maxAttempts: 2,
    // The SDK itself would look for the endpoint in another profile.
    ignoreConfiguredEndpointUrls: true,
    region,
    ...(endpoint !== undefined && { endpoint }),
  };
}

function faultOf(error: unknown): SafeText {
  const status = valueAt(error, '$metadata.httpStatusCode') ?? valueAt(error, 'statusCode');
  const name = textAt(error, 'name') ?? '';
  const facts = [
    ...(textAt(error, 'code') === undefined ? [] : [fileFault(error)]),
    ...(name === '' || name.endsWith('ProviderError') ? [] : [own(name)]),
    ...(typeof status === 'number' ? [say`HTTP status ${status}`] : []),
  ];
  return facts.length === 0 ? words('') : say` (${join(facts, ', ')})`;
}
