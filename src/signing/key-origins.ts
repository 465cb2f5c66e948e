import type { fromSSO, fromTemporaryCredentials, fromTokenFile } from '@aws-sdk/credential-providers';
import { type SafeText, words } from '../util/safe-text.js';
import { KeysUnavailable, wholeCredentials } from './keys.js';
import type { Credentials } from './sign.js';

/** The ways to get keys, which profiles and settings name. */

export type KeyOrigin =
  | { readonly use: 'keys'; readonly credentials: Credentials }
  | ProgramOrigin
  | ServiceOrigin
  | RoleOrigin<KeyOrigin>;

interface Named {
  readonly name: SafeText;
  /** The step that makes keys available. */
  readonly remedy: SafeText;
}

export interface ProgramOrigin extends Named {
  readonly use: 'program';
  readonly command: readonly string[];
}

/** A service that the SDK supports. What `options` leaves out is in AWS's environment variables. */
export type ServiceOrigin = Named &
  (
    | { readonly use: 'container' | 'instance' }
    | { readonly use: 'SSO'; readonly client: AwsClient; readonly options: Parameters<typeof fromSSO>[0] }
    | {
        readonly use: 'web identity';
        readonly client: AwsClient;
        readonly options: Parameters<typeof fromTokenFile>[0];
      }
  );

export interface RoleOrigin<Source> extends Named {
  readonly use: 'role';
  readonly client: AwsClient;
  readonly source: Source;
  readonly params: Parameters<typeof fromTemporaryCredentials>[0]['params'];
}

/** Without `endpoint`, the SDK takes AWS's. */
export interface AwsClient {
  readonly region: string;
  readonly endpoint: string | undefined;
}

/** `name` is the setting that names the program. */
export const program = (name: SafeText, command: readonly string[]): ProgramOrigin => ({
  use: 'program',
  name,
  remedy: words('Run the program by hand: it has to print the keys as JSON, and end with exit code 0.'),
  command,
});

export const container: ServiceOrigin = {
  use: 'container',
  name: words('the credentials endpoint of the container'),
  remedy: words('Check the role of the container, and AWS_CONTAINER_CREDENTIALS_FULL_URI or …_RELATIVE_URI.'),
};

export const instance: ServiceOrigin = {
  use: 'instance',
  name: words('the instance metadata service'),
  remedy: words('Check the role of the instance, or give the account keys of its own.'),
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The region if the profile has none. */
export const regionOf = (env: Environment): string => env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';

export function environmentKeys(env: Environment): KeyOrigin {
  const credentials = wholeCredentials({
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SECURITY_TOKEN || env.AWS_SESSION_TOKEN || undefined,
  });
  const problem = words('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY hold no usable key');
  if (credentials === undefined) throw new KeysUnavailable(problem, words('Set both variables for this server.'));
  return { use: 'keys', credentials };
}

/** A value of CLOUDOPS_CREDENTIAL_SOURCE. */
export type Platform = 'container' | 'instance' | 'web-identity';

export function platformOrigin(platform: Platform, env: Environment): ServiceOrigin {
  if (platform === 'container') return container;
  if (platform === 'instance') return instance;
  return {
    use: 'web identity',
    name: words('the role of AWS_ROLE_ARN'),
    remedy: words(
      'Check AWS_ROLE_ARN, the token in the file of AWS_WEB_IDENTITY_TOKEN_FILE, and who may assume the role.',
    ),
    client: {
      region: regionOf(env),
      endpoint: env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL || undefined,
    },
    options: {},
  };
}
