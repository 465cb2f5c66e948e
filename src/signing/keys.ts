import { fileFault, ShownError } from '../util/log.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import type { Credentials } from './sign.js';

/** The source of an account's keys, such as a file or a program. It may provide other keys while this server runs. */
export interface KeySource {
  /** Identifies the source, and stays the same when the keys change: the ID of a fixed key, or the file, profile or process. No secret. */
  readonly id: string;
  /**
   * The keys to sign the next request with.
   * @throws KeysUnavailable
   */
  current(): Promise<Credentials>;
  /**
   * Looks for other keys after a service has refused keys as unknown or expired. Undefined if there are none. Afterwards, `current` returns these
   * keys or newer keys.
   * @throws KeysUnavailable
   */
  renewed(refused: Credentials): Promise<Credentials | undefined>;
}

/** Keys from a program or a service. */
export interface TemporaryKeys {
  readonly credentials: Credentials;
  /** Undefined if the keys do not expire. */
  readonly expiresAt: Date | undefined;
}

/** Thrown if there are no keys to sign with. The message tells people the reason, and holds no secret. */
export class KeysUnavailable extends ShownError {
  /** The step that makes keys available, for the person who runs this server. */
  readonly remedy: SafeText;
  constructor(shown: SafeText, remedy: SafeText) {
    super(shown);
    this.remedy = remedy;
  }
}

/** Matches an access key ID or a session token that can be sent in a header. */
export const keyText = /^[\x21-\x7e]+$/;

/** The credentials. Undefined if the key ID or secret is missing or empty, or if the key ID or session token cannot be sent in a header. */
export function wholeCredentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: Partial<Record<keyof Credentials, string | undefined>>): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  if (!keyText.test(accessKeyId) || (sessionToken !== undefined && !keyText.test(sessionToken))) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/** Matches the error codes of services for an expired or unknown access key or session token. */
export const refusedKeyCodes =
  /^(ExpiredToken(Exception)?|TokenRefreshRequired|InvalidAccessKeyId|InvalidToken|InvalidClientTokenId|UnrecognizedClientException)$/i;

/** The error for a file of keys that cannot be read. */
export const unreadableKeys = (error: unknown): KeysUnavailable =>
  new KeysUnavailable(
    say`a file of keys cannot be read (${fileFault(error)})`,
    words('Correct the path, or the file.'),
  );

/** A source of keys that do not change while this server runs. */
export const fixedKeys = (credentials: Credentials): KeySource => ({
  id: `key ${credentials.accessKeyId}`,
  current: async () => credentials,
  renewed: async () => undefined,
});

export const areSameKeys = (a: Credentials, b: Credentials): boolean =>
  a.accessKeyId === b.accessKeyId && a.secretAccessKey === b.secretAccessKey && a.sessionToken === b.sessionToken;
