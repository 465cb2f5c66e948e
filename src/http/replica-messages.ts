/**
 * Messages of clients for calls that wait in another process. Keys name one client and one message, and cannot be guessed by
 * another; messages are sealed.
 */
export interface SharedMessages {
  /** Keeps a message with this key from now on, until it is forgotten or a quarter of an hour has passed. */
  expect(key: string): Promise<void>;
  /** Keeps a message, if it is expected and none with its key came before. */
  put(key: string, message: string): Promise<void>;
  /** The messages with these keys that have come. */
  read(keys: readonly string[]): Promise<readonly { readonly key: string; readonly message: string }[]>;
  forget(key: string): Promise<void>;
  close(): Promise<void>;
}
