import { type SafeText, words } from '../util/safe-text.js';
import type { AskSdk, AwsClient } from './aws-keys.js';
import { type KeyOrigin, KeysUnavailable, wholeCredentials } from './keys.js';
import { readProgramKeys, runProgram } from './program-keys.js';
import type { Credentials } from './sign.js';

/** Ways to get keys, which profiles and settings name. */

type Environment = Readonly<Record<string, string | undefined>>;

/** Between two runs (ms), because a program may open a browser. */
const programPauseMs = 60_000;
export const servicePauseMs = 5000;

export const givenKeys = (name: SafeText, remedy: SafeText, credentials: Credentials): KeyOrigin => ({
  name,
  remedy,
  pauseMs: 0,
  read: async () => ({ credentials, expiresAt: undefined }),
});

/** `name` is the setting that names the program. */
export function program(name: SafeText, command: readonly string[]): KeyOrigin {
  const remedy = words('Run the program by hand: it has to print the keys as JSON, and end with exit code 0.');
  return {
    name,
    remedy,
    pauseMs: programPauseMs,
    read: async (options) => readProgramKeys({ name, remedy }, await runProgram({ name, remedy }, command, options)),
  };
}

/** A service that the SDK supports. What `ask` leaves out is in AWS's environment variables. */
export const service = (name: SafeText, remedy: SafeText, ask: AskSdk): KeyOrigin => ({
  name,
  remedy,
  pauseMs: servicePauseMs,
  read: async ({ stop }) => {
    const { readAwsKeys } = await import('./aws-keys.js');
    return readAwsKeys({ name, remedy }, ask, stop);
  },
});

export const container = service(
  words('the credentials endpoint of the container'),
  words('Check the role of the container, and AWS_CONTAINER_CREDENTIALS_FULL_URI or …_RELATIVE_URI.'),
  (sdk) => sdk.fromHttp(sdk.nearby)(),
);

export const instance = service(
  words('the instance metadata service'),
  words('Check the role of the instance, or give the account keys of its own.'),
  (sdk) => sdk.fromInstanceMetadata(sdk.nearby)(),
);

/** The region if the profile has none. */
export const regionOf = (env: Environment): string => env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';

export function environmentKeys(env: Environment): KeyOrigin {
  const credentials = wholeCredentials({
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SECURITY_TOKEN || env.AWS_SESSION_TOKEN || undefined,
  });
  const remedy = words('Set both variables for this server.');
  if (credentials === undefined)
    throw new KeysUnavailable(words('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY hold no usable key'), remedy);
  return givenKeys(words('AWS_ACCESS_KEY_ID'), remedy, credentials);
}

export type Platform = 'container' | 'instance' | 'web-identity';

export function platformOrigin(platform: Platform, env: Environment): KeyOrigin {
  if (platform === 'container') return container;
  if (platform === 'instance') return instance;
  const client: AwsClient = {
    region: regionOf(env),
    endpoint: env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL || undefined,
  };
  return service(
    words('the role of AWS_ROLE_ARN'),
    words('Check AWS_ROLE_ARN, the token in the file of AWS_WEB_IDENTITY_TOKEN_FILE, and who may assume the role.'),
    (sdk) => sdk.fromTokenFile(sdk.optionsFor(client))(),
  );
}
