import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Part } from './records.js';

/** Checksums in base64, by header name. */
export type Checksums = Record<string, string>;

/** Algorithms that a client may use. Others are refused because the sandbox cannot verify them. */
export const checksumAlgorithms = ['CRC32', 'SHA1', 'SHA256'];

/** The header or trailer that holds a checksum. */
export const checksumHeader = (algorithm: string) => `x-amz-checksum-${algorithm.toLowerCase()}`;

const typeHeader = 'x-amz-checksum-type';

/** XML element names by checksum header. */
export const checksumNames = new Map(
  checksumAlgorithms.map((algorithm) => [checksumHeader(algorithm), `Checksum${algorithm}`]),
);
export const checksumHeaders = [...checksumNames.keys()];

export function createDigest(algorithm: string) {
  if (algorithm !== 'CRC32') return createHash(algorithm);
  const value = Buffer.alloc(4);
  return {
    update: (data: Buffer) => value.writeUInt32BE(crc32(data, value.readUInt32BE())),
    digest: () => value,
  };
}

/** XML elements with the values of checksum headers. */
export const checksumElements = (headers: Checksums) => ({
  ...Object.fromEntries([...checksumNames].map(([header, element]) => [element, headers[header]])),
  ChecksumType: headers[typeHeader],
});

/** Headers of an object made of parts: the checksum of the parts' checksums, and the number of parts. */
export function compositeChecksum(algorithm: string | undefined, parts: readonly Part[]): Checksums {
  if (algorithm === undefined) return {};
  const header = checksumHeader(algorithm);
  const digest = createDigest(algorithm);
  for (const { checksums } of parts) digest.update(Buffer.from(checksums[header] ?? '', 'base64'));
  return { [header]: `${digest.digest().toString('base64')}-${parts.length}`, [typeHeader]: 'COMPOSITE' };
}

/** Headers of an object that was uploaded in one piece. */
export const wholeChecksum = (checksums: Checksums): Checksums =>
  Object.keys(checksums).length === 0 ? {} : { ...checksums, [typeHeader]: 'FULL_OBJECT' };
