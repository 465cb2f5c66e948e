import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ServiceError } from '../http.js';

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

/** The algorithm that an upload asks for. Throws a `ServiceError` for one, or a way to join parts, that is not offered. */
export function wantedAlgorithm(headers: Readonly<Record<string, string>>): string | undefined {
  const { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': type = 'COMPOSITE' } = headers;
  if (algorithm === undefined && !('x-amz-checksum-type' in headers)) return undefined;
  if (algorithm !== undefined && checksumAlgorithms.includes(algorithm) && type === 'COMPOSITE') return algorithm;
  const offered = `The sandbox offers the checksums ${checksumAlgorithms.join(', ')}, of the type COMPOSITE.`;
  throw new ServiceError(501, 'NotImplemented', `${offered} Nothing was done.`);
}

/** The checksum of an object: that of its parts' checksums, and how many there were. All base64. */
export function compositeChecksum(algorithm: string, checksums: readonly string[]): string {
  const digest = createDigest(algorithm);
  for (const checksum of checksums) digest.update(Buffer.from(checksum, 'base64'));
  return `${digest.digest().toString('base64')}-${checksums.length}`;
}
