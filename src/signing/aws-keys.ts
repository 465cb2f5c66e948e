import {
  fromHttp,
  fromInstanceMetadata,
  fromSSO,
  fromTemporaryCredentials,
  fromTokenFile,
} from '@aws-sdk/credential-providers';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { AwsCredentialIdentity } from '@smithy/types';
import { fileFault } from '../util/log.js';
import { textAt, valueAt } from '../util/objects.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import { keySourceError, type NamedSource, type TemporaryKeys, wholeCredentials } from './keys.js';

/** Gets keys by the AWS SDK. Loaded at the first use, because the SDK is large and most servers never need it. */

/** Without a log, the SDK writes to stderr, and may repeat what a service has answered. */
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** For all requests of one answer. */
const longestWaitMs = 10_000;

/** The region and address of an AWS service. Without `endpoint`, the SDK uses the public address of the service. */
export interface AwsClient {
  readonly region: string;
  readonly endpoint: string | undefined;
}

/** The SDK's ways to get keys, with their options. `signal` ends requests. */
function createSdk(signal: AbortSignal) {
  const handler = new NodeHttpHandler({ connectionTimeout: 2000 });
  const requestHandler: Pick<NodeHttpHandler, 'handle' | 'metadata'> = {
    metadata: handler.metadata,
    handle: (request, options) => handler.handle(request, { ...options, abortSignal: signal }),
  };
  const optionsFor = ({ region, endpoint }: AwsClient) => ({
    logger,
    clientConfig: {
      requestHandler,
      maxAttempts: 2,
      // The SDK itself would look for the endpoint in another profile.
      ignoreConfiguredEndpointUrls: true,
      region,
      ...(endpoint !== undefined && { endpoint }),
    },
  });
  /** The time limit (ms) is for each request to a container or instance. */
  const nearby = { timeout: 1000, maxRetries: 1, logger };
  return { fromHttp, fromInstanceMetadata, fromSSO, fromTemporaryCredentials, fromTokenFile, optionsFor, nearby };
}

export type AskSdk = (sdk: ReturnType<typeof createSdk>) => Promise<AwsCredentialIdentity>;

/**
 * Asks a service for keys. The SDK's message is left out, because it may hold what a service has answered.
 * @throws KeysUnavailable
 */
export async function readAwsKeys(source: NamedSource, ask: AskSdk, stop: AbortSignal): Promise<TemporaryKeys> {
  using limit = timeLimit(longestWaitMs, stop);
  const { signal } = limit;
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const found = await Promise.race([ask(createSdk(signal)), aborted]).catch((error: unknown) => {
    if (signal.aborted) throw keySourceError(source, say`did not answer within ${longestWaitMs / 1000} seconds`);
    throw keySourceError(source, say`gave no keys${faultOf(error)}`);
  });
  const credentials = wholeCredentials(found);
  if (credentials === undefined) throw keySourceError(source, words('gave keys that cannot be used'));
  return { credentials, expiresAt: found.expiration };
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
