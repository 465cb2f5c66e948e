import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Checksums that a client may send or ask for. Others are refused, because nothing here could check them. */

interface Digest {
  update(data: Buffer): unknown;
  digest(): Buffer;
}

export const checksumAlgorithms = ['CRC32', 'SHA1', 'SHA256'];

/** The header or trailer that holds a checksum. */
export const checksumHeader = (algorithm: string) => `x-amz-checksum-${algorithm.toLowerCase()}`;

export const checksumHeaders = checksumAlgorithms.map(checksumHeader);

export function createDigest(algorithm: string): Digest {
  if (algorithm !== 'CRC32') return createHash(algorithm);
  let value = 0;
  return {
    update: (data) => {
      value = crc32(data, value);
    },
    digest: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    },
  };
}

/** The checksum of an object: that of its parts' checksums, and how many there were. All base64. */
export function compositeChecksum(algorithm: string, checksums: readonly string[]): string {
  const digest = createDigest(algorithm);
  for (const checksum of checksums) digest.update(Buffer.from(checksum, 'base64'));
  return `${digest.digest().toString('base64')}-${checksums.length}`;
}
