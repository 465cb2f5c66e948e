/** Writes whole numbers of any size up to 2^53 in as few bytes as they need: seven bits a byte, lowest first. */
export interface ByteWriter {
  number(value: number): void;
  bytes(values: Iterable<number>): void;
  readonly length: number;
  /** Everything written so far, as base64. */
  toBase64(): string;
}

export function createByteWriter(): ByteWriter {
  const written: number[] = [];
  return {
    number(value) {
      let rest = value;
      while (rest > 127) {
        written.push((rest % 128) + 128);
        rest = Math.floor(rest / 128);
      }
      written.push(rest);
    },
    bytes(values) {
      for (const value of values) written.push(value);
    },
    get length() {
      return written.length;
    },
    toBase64() {
      let text = '';
      for (const byte of written) text += String.fromCharCode(byte);
      return btoa(text);
    },
  };
}

/** Reads what a `ByteWriter` wrote. Every method throws `RangeError` where the data ends early or is malformed. */
export interface ByteReader {
  number(): number;
  bytes(count: number): Uint8Array;
  readonly atEnd: boolean;
}

/** @throws RangeError if the text is not base64 */
export function createByteReader(base64: string): ByteReader {
  const data = decodeBase64(base64);
  let at = 0;
  return {
    number() {
      let value = 0;
      for (let scale = 1; scale < Number.MAX_SAFE_INTEGER; scale *= 128) {
        const byte = data[at++];
        if (byte === undefined) throw new RangeError('the data ends within a number');
        value += (byte % 128) * scale;
        if (value > Number.MAX_SAFE_INTEGER) break;
        if (byte < 128) return value;
      }
      throw new RangeError('a number is too large');
    },
    bytes(count) {
      if (count > data.length - at) throw new RangeError('the data ends within a run of bytes');
      at += count;
      return data.subarray(at - count, at);
    },
    get atEnd() {
      return at === data.length;
    },
  };
}

function decodeBase64(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw new RangeError('the data is not base64');
  }
}
