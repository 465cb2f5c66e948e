import { ShownError } from '../util/log.js';
import type { Credentials } from './sign.js';

/** The source of an account's keys. The keys may be replaced there while the server runs. */
export interface KeySource {
  /** Identifies the source and never changes: the ID of a fixed key, or else the file, profile or process. It holds no secret. */
  readonly id: string;
  /**
   * The keys to sign with now.
   * @throws KeysUnavailable
   */
  current(): Promise<Credentials>;
  /**
   * Looks for new keys, after a service has refused keys as unknown or expired. Resolves with undefined if there are none.
   * @throws KeysUnavailable
   */
  renewed(refused: Credentials): Promise<Credentials | undefined>;
}

/** Thrown if there are no keys to sign with. The message says why; it is for people and holds no secret. */
export class KeysUnavailable extends ShownError {}

/** Keys that do not change while the server runs. */
export const fixedKeys = (credentials: Credentials): KeySource => ({
  id: `key ${credentials.accessKeyId}`,
  current: async () => credentials,
  renewed: async () => undefined,
});

export const areSameKeys = (a: Credentials, b: Credentials): boolean =>
  a.accessKeyId === b.accessKeyId && a.secretAccessKey === b.secretAccessKey && a.sessionToken === b.sessionToken;
