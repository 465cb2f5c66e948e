import type { KeySource } from '../signing/keys.js';
import { apiProfile, type SigningProfile, s3Profile, storageProfile } from '../signing/signature-variants.js';
import {
  type ApiRequest,
  isBuiltInService,
  type Operation,
  type Service,
  type Signing,
} from '../tools/define-operation.js';
import { operatorMust } from '../tools/next.js';
import { type Endpoint, encodeRequest, type WireRequest } from '../transport/request.js';
import { defined, own, quoted, say } from '../util/safe-text.js';
import { isLoopback, regionInHost } from '../util/uri.js';
import { Refusal } from './refusal.js';

export type RegionSource = 'given' | 'configured' | 'default';

export interface Cloud {
  readonly account: string;
  readonly region: string;
  readonly regionIsConfigured?: boolean;
  /** `missing` has names of variables. */
  readonly keys: KeySource | { readonly missing: readonly string[] };
  /** May hold `{region}` and a path prefix. */
  readonly endpoints: Readonly<Record<Service, string | undefined>>;
  readonly signingServices: Readonly<Record<Service, string>>;
  readonly isSandbox?: boolean;
  readonly storageHeaders: 'ext' | 'amz';
  /** The default is `path`. */
  readonly storageStyle?: 'path' | 'virtual';
}

/** Returns the endpoint of an operation's API in a region. In the style `virtual`, the host has the bucket of `path`. @throws Refusal */
export function resolveEndpoint(
  cloud: Cloud,
  { service: api, signing, hostPrefix = '' }: Pick<Operation, 'service' | 'signing' | 'hostPrefix'>,
  requestedRegion: string = cloud.region,
  path = '/',
): Endpoint {
  const { account, keys, isSandbox = false } = cloud;
  const address = cloud.endpoints[api];
  if (address === undefined || 'missing' in keys) throw notConfigured(cloud, api);

  // A global API has only one region, even if the call names another.
  const region = signing?.region ?? requestedRegion;
  const signingService = signing?.service ?? cloud.signingServices[api] ?? api;
  if (address.includes('{region}') && !regionInHost.test(region))
    throw new Refusal(region === cloud.region ? 'NotConfigured' : 'InvalidArguments', [
      say`region: ${quoted(region, 64)} cannot be the {region} in ${own(`CLOUDOPS_${endpointSetting(api)}`)}, which takes lower-case letters, digits and hyphens`,
    ]);
  const bucketInHost = api === 'storage' && cloud.storageStyle === 'virtual' ? bucketOf(path) : undefined;
  const prefix = bucketInHost === undefined ? hostPrefix : `${bucketInHost}.${hostPrefix}`;
  const url = withHostPrefix(new URL(address.replaceAll('{region}', region)), prefix);
  const profile = signingProfileOf(cloud, api, signing);
  if (profile.kind === 'v3' && url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Refusal('NotConfigured', [
      say`${own(`CLOUDOPS_${endpointSetting(api)}`)} is plain http, over which Signature Version 3 protects no request`,
    ]);
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/+$/, ''),
    region,
    // The name in signatures, and not the name of the API.
    service: signingService,
    profile,
    account,
    keys,
    ...(isSandbox && { isSandbox }),
    ...(bucketInHost !== undefined && { bucketInHost }),
  };
}

/** Undefined for `/`, the list of all buckets. @throws Refusal */
function bucketOf(path: string): string | undefined {
  const [, segment = ''] = path.split('/');
  if (segment === '') return undefined;
  // One DNS label, so that the bucket can name no other domain.
  if (/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(segment)) return segment;
  throw new Refusal('InvalidArguments', [
    say`bucket: ${quoted(segment, 80)} is not 3 to 63 lower-case letters, digits and hyphens, which the name of a host takes (CLOUDOPS_STORAGE_STYLE=virtual)`,
  ]);
}

/** @throws Refusal if the path is in another bucket */
function pathInBucket(path: string, bucket: string): string {
  if (path === `/${bucket}`) return '/';
  if (path.startsWith(`/${bucket}/`)) return path.slice(bucket.length + 1);
  throw new Refusal('InvalidArguments', [say`bucket: all requests of a call must be for the same bucket`]);
}

function notConfigured(cloud: Cloud, service: Service): Refusal {
  if (cloud.isSandbox === true)
    return new Refusal('NotConfigured', [say`the built-in sandbox has no API ${own(service)}`], {
      next: operatorMust('unset CLOUDOPS_SANDBOX to use the cloud'),
    });
  const problems = missingSettings(cloud, service).map((name) => say`${own(name)} is not set`);
  const more = isBuiltInService(service) ? {} : { next: operatorMust('set what is missing') };
  return new Refusal('NotConfigured', problems, more);
}

/** @throws Refusal if the host is an IP address */
function withHostPrefix(url: URL, prefix: string): URL {
  if (prefix === '') return url;
  const { protocol, host, pathname } = url;
  const prefixed = `${protocol}//${prefix}${host}${pathname}`;
  if (URL.canParse(prefixed)) return new URL(prefixed);
  throw new Refusal('NotConfigured', [
    say`the endpoint has the host ${own(host)}, but this API needs a name that can follow ${own(prefix)}`,
  ]);
}

function signingProfileOf({ storageHeaders }: Cloud, service: Service, signing: Signing | undefined): SigningProfile {
  const variant = signing?.variant ?? (service === 'storage' ? storageHeaders : 'api');
  if (variant === 'v2' || variant === 'v3') return { kind: variant };
  if (variant === 'api') return apiProfile;
  return variant === 'ext' ? storageProfile : s3Profile;
}

/** The setting of an endpoint without `CLOUDOPS_`, such as `STORAGE_URL`. */
export const endpointSetting = (service: Service): string =>
  `${isBuiltInService(service) ? '' : 'ENDPOINT_'}${service.toUpperCase().replaceAll('-', '_')}_URL`;

/** Encodes the request of an operation for an endpoint. @throws Refusal */
export function wireRequest({ method }: Operation, request: ApiRequest, endpoint: Endpoint): WireRequest {
  const { bucketInHost, pathPrefix } = endpoint;
  const path = bucketInHost === undefined ? request.path : pathInBucket(request.path, bucketInHost);
  // A proxy that resolves dot segments would act outside the prefix.
  if (pathPrefix !== '' && path.split('/').some((segment) => segment === '.' || segment === '..'))
    throw new Refusal('InvalidArguments', [
      say`object: must have no "." or ".." between slashes, because the endpoint in the configuration has a path`,
    ]);
  try {
    return encodeRequest(method, { ...request, path }, endpoint);
  } catch (error) {
    // Thrown for a value that the format cannot hold.
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal('InvalidArguments', [say`arguments: cannot be sent, because ${defined(error.message)}`]);
  }
}

/** The variables to set before an API can be called. */
export function missingSettings({ endpoints, keys }: Pick<Cloud, 'endpoints' | 'keys'>, service: Service): string[] {
  const address = endpoints[service] === undefined ? [`CLOUDOPS_${endpointSetting(service)}`] : [];
  return [...address, ...('missing' in keys ? keys.missing : [])];
}

export const regionSourceOf = ({ regionIsConfigured }: Cloud, given: string | undefined): RegionSource =>
  given !== undefined ? 'given' : regionIsConfigured === true ? 'configured' : 'default';
