import { bytes, quoted, type SafeText, say, words } from '../../util/safe-text.js';
import { longestKey } from './xml-record.js';

/** The fields of a page of parts that its sentences need. Any field may be missing. */
interface PageOfParts {
  readonly object?: string | undefined;
  readonly parts?:
    | readonly { readonly partNumber?: number | undefined; readonly size?: number | undefined }[]
    | undefined;
  readonly isTruncated?: boolean | undefined;
  readonly partNumberMarker?: number | undefined;
}

/** Describes a page of parts, and says if more follow. */
export function pageSentences({ object = '', parts = [], isTruncated, partNumberMarker = 0 }: PageOfParts): SafeText {
  const numbers = parts.flatMap(({ partNumber }) => partNumber ?? []);
  const size = bytes(parts.reduce((sum, { size = 0 }) => sum + size, 0));
  const more = words(isTruncated ? 'More follow.' : 'No parts follow these.');
  const name = quoted(object, longestKey);
  const ofUpload = say`of ${name} on this page`;
  const [first = 0] = numbers;
  if (parts.length === 0) {
    const which = partNumberMarker === 0 ? ofUpload : say`of ${name} with a number above ${partNumberMarker}`;
    return say`No parts ${which}.${words(isTruncated ? ' More follow.' : '')}`;
  }
  if (parts.length === 1) return say`One part ${ofUpload}: ${first}, ${size}. ${more}`;
  return say`${parts.length} parts ${ofUpload}: ${first}–${numbers.at(-1) ?? 0}, ${size}. ${more}`;
}
