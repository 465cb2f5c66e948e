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
import { KeysUnavailable, type NamedSource, type TemporaryKeys, wholeCredentials } from './keys.js';

/** Gets keys by the AWS SDK. Loaded at the first use, because the SDK is large and most servers never need it. */

/** Without a log, the SDK writes to stderr, and may repeat what a service has answered. */
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** The time limit (ms) is for each request to a container or instance. */
const nearby = { timeout: 1000, maxRetries: 1, logger };
/** For all requests of one answer. */
const longestWaitMs = 10_000;

/** The region and address of an AWS service. Without `endpoint`, the SDK uses the public address of the service. */
export interface AwsClient {
  readonly region: string;
  readonly endpoint: string | undefined;
}

/** The SDK's ways to get keys. `signal` ends requests. */
function createSdk(signal: AbortSignal) {
  type Options<Provider extends (init: never) => unknown> = Parameters<Provider>[0];
  return {
    container: fromHttp(nearby),
    instance: fromInstanceMetadata(nearby),
    sso: (client: AwsClient, options: Options<typeof fromSSO>) =>
      fromSSO({ ...options, clientConfig: clientConfig(client, signal), logger })(),
    webIdentity: (client: AwsClient, options: Options<typeof fromTokenFile>) =>
      fromTokenFile({ ...options, clientConfig: clientConfig(client, signal), logger })(),
    role: (
      client: AwsClient,
      options: Pick<Options<typeof fromTemporaryCredentials>, 'params' | 'masterCredentials'>,
    ) => fromTemporaryCredentials({ ...options, clientConfig: clientConfig(client, signal), logger })(),
  };
}

export type AskSdk = (sdk: ReturnType<typeof createSdk>) => ReturnType<ReturnType<typeof fromHttp>>;

/**
 * Asks a service for keys. The SDK's message is left out, because it may hold what a service has answered.
 * @throws KeysUnavailable
 */
export async function readAwsKeys(
  { name, remedy }: NamedSource,
  ask: AskSdk,
  stop: AbortSignal,
): Promise<TemporaryKeys> {
  using limit = timeLimit(longestWaitMs, stop);
  const { signal } = limit;
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const unavailable = (problem: SafeText) => new KeysUnavailable(say`${name} ${problem}`, remedy);
  const found = await Promise.race([ask(createSdk(signal)), aborted]).catch((error: unknown) => {
    if (signal.aborted) throw unavailable(say`did not answer within ${longestWaitMs / 1000} seconds`);
    throw unavailable(say`gave no keys${faultOf(error)}`);
  });
  const credentials = wholeCredentials(found);
  if (credentials === undefined) throw unavailable(words('gave keys that cannot be used'));
  return { credentials, expiresAt: found.expiration };
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
