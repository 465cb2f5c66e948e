import { ShownError } from '../util/log.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Credentials } from './sign.js';

/** The source of an account's keys, which may change while this server runs. */
export interface KeySource {
  /** Stays the same when the keys change. No secret. */
  readonly id: string;
  /** @throws KeysUnavailable */
  current(): Promise<Credentials>;
  /**
   * Looks for other keys after a service has refused these. Undefined if there are none. Afterwards, `current` returns the new keys.
   * @throws KeysUnavailable
   */
  renewed(refused: Credentials): Promise<Credentials | undefined>;
}

export interface TemporaryKeys {
  readonly credentials: Credentials;
  /** Undefined if the keys do not expire. */
  readonly expiresAt: Date | undefined;
}

export interface NamedSource {
  readonly name: SafeText;
  /** The step that makes keys available. */
  readonly remedy: SafeText;
}

export interface KeyOrigin extends NamedSource {
  /** Between the starts of two reads (ms). */
  readonly pauseMs: number;
  /** @throws KeysUnavailable */
  read(options: KeyReadOptions): Promise<TemporaryKeys>;
}

export interface KeyReadOptions {
  /** Without the settings of this server, which may hold other keys. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborting kills programs and ends requests. */
  readonly stop: AbortSignal;
}

/** Thrown if there are no keys to sign with. The message holds no secret. */
export class KeysUnavailable extends ShownError {
  readonly remedy: SafeText;
  constructor(shown: SafeText, remedy: SafeText) {
    super(shown);
    this.remedy = remedy;
  }
}

/** `problem` is the end of a sentence: `ended with exit code 1`. */
export const keySourceError = ({ name, remedy }: NamedSource, problem: SafeText): KeysUnavailable =>
  new KeysUnavailable(say`${name} ${problem}`, remedy);

export const keyText = /^[\x21-\x7e]+$/;

/** Undefined if the key ID or secret is missing, or if a header cannot hold the key ID or token. */
export function wholeCredentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: Partial<Record<keyof Credentials, string | undefined>>): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  if (!keyText.test(accessKeyId) || (sessionToken !== undefined && !keyText.test(sessionToken))) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

export const refusedKeyCodes =
  /^(ExpiredToken(Exception)?|TokenRefreshRequired|InvalidAccessKeyId|InvalidToken|InvalidClientTokenId|UnrecognizedClientException)$/i;

export const fixedKeys = (credentials: Credentials): KeySource => ({
  id: `key ${credentials.accessKeyId}`,
  current: async () => credentials,
  renewed: async () => undefined,
});
