import type { RegionSource } from '../answers/plan.js';
import { Refusal } from '../answers/refusal.js';
import { apiProfile, s3Profile, storageProfile } from '../signing/profiles.js';
import type { Credentials } from '../signing/sign.js';
import type { ApiRequest, Operation, Service } from '../tools/define-operation.js';
import type { Endpoint, UnsignedApiRequest } from '../transport/request.js';

/** The part of the configuration that reaches the cloud. Everything may be missing until it is needed. */
export interface Cloud {
  readonly region: string;
  /** True if the region was configured, and is not this server's default. */
  readonly regionIsConfigured?: boolean;
  readonly credentials: { readonly [Key in keyof Credentials]?: Credentials[Key] | undefined };
  /** Endpoint of each API: may hold `{region}` and a path prefix. */
  readonly endpoints: Readonly<Record<Service, string | undefined>>;
  readonly signingServices: Readonly<Record<Service, string>>;
  readonly storageHeaders: 'ext' | 'amz';
}

/**
 * The endpoint of an API in a region.
 * @throws Refusal that names the variables that have to be set first
 */
export function resolveEndpoint(cloud: Cloud, service: Service, region: string = cloud.region): Endpoint {
  const endpoint = cloud.endpoints[service];
  const { accessKeyId, secretAccessKey, sessionToken } = cloud.credentials;
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    throw new Refusal(
      'NotConfigured',
      missingSettings(cloud, service).map((name) => `${name} is not set`),
    );
  const url = new URL(endpoint.replaceAll('{region}', region));
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/+$/, ''),
    region,
    service: cloud.signingServices[service],
    profile: service !== 'storage' ? apiProfile : cloud.storageHeaders === 'amz' ? s3Profile : storageProfile,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
  };
}

/** The request of an operation, for the endpoint of its region. */
export const unsignedRequest = ({ method }: Operation, { path, query = {}, body }: ApiRequest): UnsignedApiRequest => ({
  method,
  path,
  query,
  ...(body !== undefined && { body }),
});

/**
 * Checks that a path stays below the endpoint's path prefix. Servers and proxies that resolve dot segments would act on another
 * path than the one that was signed, outside the prefix too.
 * @throws Refusal
 */
export function checkPath({ pathPrefix }: Endpoint, path: string): void {
  if (pathPrefix !== '' && path.split('/').some((segment) => segment === '.' || segment === '..'))
    throw new Refusal('InvalidArguments', [
      'object: must have no "." or ".." between slashes, because the endpoint in the configuration has a path',
    ]);
}

/** The variables that have to be set before an API can be called. */
export function missingSettings({ endpoints, credentials }: Cloud, service: Service): string[] {
  const needed = {
    [`CLOUDOPS_${service.toUpperCase()}_URL`]: endpoints[service],
    CLOUDOPS_ACCESS_KEY_ID: credentials.accessKeyId,
    CLOUDOPS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
  return Object.keys(needed).filter((name) => needed[name] === undefined);
}

export const regionSourceOf = ({ regionIsConfigured }: Cloud, given: string | undefined): RegionSource =>
  given !== undefined ? 'given' : regionIsConfigured === true ? 'configured' : 'default';
