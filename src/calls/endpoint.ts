import type { RegionSource } from '../consent/plan.js';
import { Refusal } from '../consent/refusal.js';
import { type KeySource, KeysUnavailable } from '../signing/keys.js';
import { apiProfile, type SigningProfile, s3Profile, storageProfile } from '../signing/signature-variants.js';
import {
  type ApiRequest,
  builtInServices,
  type Operation,
  type Service,
  type Signing,
} from '../tools/define-operation.js';
import { operatorMust } from '../tools/next.js';
import { type Endpoint, encodeRequest, type WireRequest } from '../transport/request.js';
import { defined, own, say } from '../util/safe-text.js';

/** Keys that are not or not fully configured. */
interface MissingKeys {
  /** Names of the variables to set. */
  readonly missing: readonly string[];
}

/** An account's configuration for reaching the cloud. Missing parts are refused only when a call needs them. */
export interface Cloud {
  /** Name of the account. */
  readonly account: string;
  readonly region: string;
  /** Unset if the region is this server's default. */
  readonly regionIsConfigured?: boolean;
  readonly keys: KeySource | MissingKeys;
  /** URL of each API. May hold `{region}` and a path prefix. */
  readonly endpoints: Readonly<Record<Service, string | undefined>>;
  /** Service name in the signature, for the three APIs of the cloud. */
  readonly signingServices: Readonly<Record<Service, string>>;
  /** Set if the built-in sandbox stands in for the cloud. */
  readonly isSandbox?: boolean;
  readonly storageHeaders: 'ext' | 'amz';
}

/**
 * Returns the endpoint of an API in a region.
 * @throws Refusal that names the variables to set
 */
export function resolveEndpoint(
  cloud: Cloud,
  { service, signing, hostPrefix = '' }: Pick<Operation, 'service' | 'signing' | 'hostPrefix'>,
  asked: string = cloud.region,
): Endpoint {
  const region = signing?.region ?? asked;
  const address = cloud.endpoints[service];
  const { account, keys, isSandbox = false } = cloud;
  if (address === undefined || 'missing' in keys) throw notConfigured(cloud, service);
  const url = withHostPrefix(new URL(address.replaceAll('{region}', region)), hostPrefix);
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/+$/, ''),
    region,
    service: signing?.service ?? cloud.signingServices[service] ?? service,
    profile: profileOf(cloud, service, signing),
    account,
    keys,
    ...(isSandbox && { isSandbox }),
  };
}

function notConfigured(cloud: Cloud, service: Service): Refusal {
  if (cloud.isSandbox === true)
    return new Refusal('NotConfigured', [say`the built-in sandbox has no API ${own(service)}`], {
      next: operatorMust('unset CLOUDOPS_SANDBOX to use the cloud'),
    });
  const problems = missingSettings(cloud, service).map((name) => say`${own(name)} is not set`);
  return new Refusal('NotConfigured', problems);
}

/** @throws Refusal if the host can have no prefix, because it is an address */
function withHostPrefix(url: URL, prefix: string): URL {
  if (prefix === '') return url;
  const { protocol, host, pathname } = url;
  const prefixed = `${protocol}//${prefix}${host}${pathname}`;
  if (URL.canParse(prefixed)) return new URL(prefixed);
  throw new Refusal('NotConfigured', [
    say`the endpoint has the host ${own(host)}, but this API needs a name that can follow ${own(prefix)}`,
  ]);
}

function profileOf({ storageHeaders }: Cloud, service: Service, signing: Signing | undefined): SigningProfile {
  if (signing !== undefined) return signing.headers === 's3' ? s3Profile : apiProfile;
  if (service !== 'storage') return apiProfile;
  return storageHeaders === 'amz' ? s3Profile : storageProfile;
}

/** The setting of an API's endpoint without the `CLOUDOPS_` prefix: `STORAGE_URL`, or `ENDPOINT_BILLING_URL`. */
export const endpointSetting = (service: Service): string => {
  const isBuiltIn = builtInServices.some((one) => one === service);
  return `${isBuiltIn ? '' : 'ENDPOINT_'}${service.toUpperCase().replaceAll('-', '_')}_URL`;
};

/**
 * Encodes the request of an operation for an endpoint.
 * @throws Refusal if its path would leave the endpoint's prefix, or if its body cannot be written
 */
export function wireRequest({ method }: Operation, request: ApiRequest, endpoint: Endpoint): WireRequest {
  checkPath(endpoint, request.path);
  try {
    return encodeRequest(method, request, endpoint);
  } catch (error) {
    // XML, for example, has no form for control characters.
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal('InvalidArguments', [say`arguments: cannot be sent, because ${defined(error.message)}`]);
  }
}

/**
 * Checks that a path stays below the endpoint's path prefix. Servers and proxies that resolve dot segments would act on another
 * path than the signed one, even outside the prefix.
 * @throws Refusal
 */
function checkPath({ pathPrefix }: Endpoint, path: string): void {
  if (pathPrefix !== '' && path.split('/').some((segment) => segment === '.' || segment === '..'))
    throw new Refusal('InvalidArguments', [
      say`object: must have no "." or ".." between slashes, because the endpoint in the configuration has a path`,
    ]);
}

/** Returns the refusal for missing keys, if they caused the error. */
export function keysRefusal(error: unknown): Refusal | undefined {
  if (error instanceof KeysUnavailable) return new Refusal('KeysUnavailable', [error.shown]);
  return error instanceof Error && error.cause !== undefined ? keysRefusal(error.cause) : undefined;
}

/** The variables to set before an API can be called. */
export function missingSettings({ endpoints, keys }: Cloud, service: Service): string[] {
  const address = endpoints[service] === undefined ? [`CLOUDOPS_${endpointSetting(service)}`] : [];
  return [...address, ...('missing' in keys ? keys.missing : [])];
}

export const regionSourceOf = ({ regionIsConfigured }: Cloud, given: string | undefined): RegionSource =>
  given !== undefined ? 'given' : regionIsConfigured === true ? 'configured' : 'default';
