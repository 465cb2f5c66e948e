import { counted, type SafeText, say } from '../../util/safe-text.js';

/** This file decides when a list in pages has ended, because stores differ in what they say about it. */

/** A page of a list, compared with the pages before. */
export interface PageFacts {
  /** Undefined if the page does not say it. */
  readonly isTruncated: boolean | undefined;
  readonly entries: number;
  readonly hasNew: boolean;
  /** From 1. */
  readonly number: number;
  /** The page before said that more follow. */
  readonly saidMore: boolean;
}

/** True if the page says so, or only repeats what was read. */
export const isLastPage = ({ isTruncated, entries, hasNew }: PageFacts): boolean =>
  isTruncated === false || (entries > 0 && !hasNew);

/** Says why entries may be missing after the last page. */
export function doubtAbout({ isTruncated, entries, hasNew, number, saidMore }: PageFacts): SafeText | undefined {
  if (isTruncated === true)
    return say`page ${number} says that more follow, but brings nothing new and names no later place to go on`;
  // An empty page after the last entry shows that none follow.
  if (isTruncated === undefined && (number === 1 || entries > 0))
    return say`the answer does not say whether more follow`;
  return saidMore && !hasNew ? say`page ${number - 1} says that more follow, but no more came` : undefined;
}

/** Warns about entries without the name by which they could be used. */
export const leftOutWarning = (count: number, name: SafeText): SafeText | undefined =>
  count === 0 ? undefined : say`Left out: ${counted(count, 'element')} without a readable ${name}.`;
