/** Longest object key in bytes of UTF-8, and therefore in characters. No key is cut. */
export const longestKey = 1024;

/** Decodes an object key if the service encoded it. S3 then writes a space as `+`, and a plus sign as `%2B`. */
export function decodedKey(key: unknown, encodingType: unknown): unknown {
  if (encodingType !== 'url' || typeof key !== 'string') return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}
