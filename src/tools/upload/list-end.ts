import { type SafeText, say } from '../../util/safe-text.js';

/** This file decides when a list in pages has ended, because stores differ in what they say about it. */

/** A page of a list, compared with the pages before. */
export interface PageFacts {
  /** Whether the page says that more follow. Undefined if it does not say so readably. */
  readonly isTruncated: boolean | undefined;
  /** Number of entries, and whether any of them was not read before. */
  readonly entries: number;
  readonly hasNew: boolean;
  /** Page number, from 1. */
  readonly number: number;
  /** True if the page before said that more follow. */
  readonly saidMore: boolean;
}

/** True if the list ends with this page: because the page says so, or because it only repeats what was read. */
export const isLastPage = ({ isTruncated, entries, hasNew }: PageFacts): boolean =>
  isTruncated === false || (entries > 0 && !hasNew);

/** Says why entries may be missing after a page that no other page follows. Undefined if the list is complete. */
export function doubtAbout({ isTruncated, entries, hasNew, number, saidMore }: PageFacts): SafeText | undefined {
  if (isTruncated === true)
    return say`page ${number} says that more follow, but brings nothing new and names no later place to go on`;
  // An empty page after the last entry shows that none follow.
  if (isTruncated === undefined && (number === 1 || entries > 0))
    return say`the answer does not say whether more follow`;
  return saidMore && !hasNew ? say`page ${number - 1} says that more follow, but no more came` : undefined;
}
