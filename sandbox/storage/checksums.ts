import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Part } from './records.js';

/** Headers with checksums by name, such as `x-amz-checksum-sha256`, and for an object also `x-amz-checksum-type`. */
export type Checksums = Record<string, string>;

/** The algorithms that a client may use. Others are refused, because the sandbox could not check their checksums. */
export const checksumAlgorithms = ['CRC32', 'SHA1', 'SHA256'];

/** The name of the header or trailer for the checksum of an algorithm. */
export const checksumHeader = (algorithm: string) => `x-amz-checksum-${algorithm.toLowerCase()}`;

const typeHeader = 'x-amz-checksum-type';

/** The name of the XML element for each checksum header. */
export const checksumNames = new Map(
  checksumAlgorithms.map((algorithm) => [checksumHeader(algorithm), `Checksum${algorithm}`]),
);
export const checksumHeaders = [...checksumNames.keys()];

export function createDigest(algorithm: string) {
  if (algorithm !== 'CRC32') return createHash(algorithm);
  // `createHash` has no CRC32, so this is an object with the same two functions.
  const value = Buffer.alloc(4);
  return {
    update: (data: Buffer) => value.writeUInt32BE(crc32(data, value.readUInt32BE())),
    digest: () => value,
  };
}

/** The XML elements with the checksums of a part or an object. */
export const checksumElements = (headers: Checksums) => ({
  ...Object.fromEntries([...checksumNames].map(([header, element]) => [element, headers[header]])),
  ChecksumType: headers[typeHeader],
});

/** The checksum headers of a multipart object: the checksum of all checksums of its parts, a hyphen, and the number of parts. */
export function compositeChecksum(algorithm: string | undefined, parts: readonly Part[]): Checksums {
  if (algorithm === undefined) return {};
  const header = checksumHeader(algorithm);
  const digest = createDigest(algorithm);
  for (const { checksums } of parts) digest.update(Buffer.from(checksums[header] ?? '', 'base64'));
  return { [header]: `${digest.digest().toString('base64')}-${parts.length}`, [typeHeader]: 'COMPOSITE' };
}

/** The checksum headers of an object that was uploaded with PutObject. */
export const wholeChecksum = (checksums: Checksums): Checksums =>
  Object.keys(checksums).length === 0 ? {} : { ...checksums, [typeHeader]: 'FULL_OBJECT' };
