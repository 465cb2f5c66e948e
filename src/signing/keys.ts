import { ShownError } from '../util/log.js';
import type { Credentials } from './sign.js';

/** The place where the keys of an account come from. They may be replaced there while the server runs. */
export interface KeySource {
  /** Names the place and never changes: the ID of a fixed key, or else the files, profile or process. It holds no secret. */
  readonly id: string;
  /**
   * The keys to sign with now.
   * @throws KeysUnavailable
   */
  current(): Promise<Credentials>;
  /**
   * Looks again, after a service refused keys as unknown or expired. Resolves with others than those, if there are any.
   * @throws KeysUnavailable
   */
  renewed(refused: Credentials): Promise<Credentials | undefined>;
}

/** Why there are no keys to sign with. The message is for people, and holds no secret. */
export class KeysUnavailable extends ShownError {}

/** Keys that stay as they are until the server is started again. */
export const fixedKeys = (credentials: Credentials): KeySource => ({
  id: `key ${credentials.accessKeyId}`,
  current: async () => credentials,
  renewed: async () => undefined,
});

export const areSameKeys = (one: Credentials, other: Credentials): boolean =>
  one.accessKeyId === other.accessKeyId &&
  one.secretAccessKey === other.secretAccessKey &&
  one.sessionToken === other.sessionToken;
