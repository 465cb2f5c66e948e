import { apiProfile, s3Profile, storageProfile } from '../signing/profiles.js';
import type { Credentials } from '../signing/sign.js';
import type { Service } from '../tools/define-operation.js';
import type { Endpoint } from '../transport/signed-client.js';

/** What calls need to know of the configuration to reach the cloud. Everything may be missing until it is needed. */
export interface Cloud {
  readonly region: string;
  readonly credentials: { readonly [Key in keyof Credentials]?: Credentials[Key] | undefined };
  /** Endpoint of each API: may hold `{region}` and a path prefix. */
  readonly endpoints: Readonly<Record<Service, string | undefined>>;
  readonly signingServices: Readonly<Record<Service, string>>;
  readonly storageHeaders: 'ext' | 'amz';
}

/** Where an API is in a region, or the names of the variables that have to be set first. */
export function resolveEndpoint(
  cloud: Cloud,
  service: Service,
  region: string = cloud.region,
): { readonly ok: true; readonly target: Endpoint } | { readonly ok: false; readonly missing: readonly string[] } {
  const endpoint = cloud.endpoints[service];
  const { accessKeyId, secretAccessKey, sessionToken } = cloud.credentials;
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    const needed = {
      [`CLOUDOPS_${service.toUpperCase()}_URL`]: endpoint,
      CLOUDOPS_ACCESS_KEY_ID: accessKeyId,
      CLOUDOPS_SECRET_ACCESS_KEY: secretAccessKey,
    };
    return { ok: false, missing: Object.keys(needed).filter((name) => needed[name] === undefined) };
  }
  const url = new URL(endpoint.replaceAll('{region}', region));
  return {
    ok: true,
    target: {
      origin: url.origin,
      pathPrefix: url.pathname.replace(/\/+$/, ''),
      region,
      service: cloud.signingServices[service],
      profile: service !== 'storage' ? apiProfile : cloud.storageHeaders === 'amz' ? s3Profile : storageProfile,
      credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    },
  };
}
