/** An object key has at most so many bytes of UTF-8, and so at most so many characters. No key is cut. */
export const longestKey = 1024;

/** The key of an object as it is, where a service encodes it: S3 writes a space as `+` then, and a plus sign as `%2B`. */
export function decodedKey(key: unknown, encodingType: unknown): unknown {
  if (encodingType !== 'url' || typeof key !== 'string') return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}
