/**
 * Constants of the model in `pace.ts`, where the terms are explained. `npm run bench -- uploads --choose` chose them on recorded uploads.
 * Limits of S3 and promises to users are elsewhere, because they must not be chosen.
 */
export const tuned = {
  /** A number of connections is accepted if its unevenness is at most this many times the least. The smallest accepted number wins. */
  sureFactor: 1.2,
  /**
   * Replaces `sureFactor` if the start is unknown, because too many connections then fit too. Also: a wait this many times as long as
   * others may be a pause.
   */
  doubtfulFactor: 2.5,
  /** A number of connections with at most this unevenness is accepted in any case, because uploads are never more even. */
  evenEnough: 0.05,
  /** A wait this many times as long as the burst before it ends the burst. */
  apartFactor: 8,
  /** A silence that is this share of the time since the start ends the first round. */
  firstRoundSilence: 0.15,
  /** If the start is unknown, more parts than this are certainly more than one round. */
  moreThanOneRound: 20,
  /** A silence is a pause if it is this many times as long as the longest other silence. */
  pauseFactor: 1.9,
  /** A part is overdue if it has been in flight for this many times the usual time. */
  overdueFactor: 1.7,
  /** A difference of speed is real if it is this many times as large as the noise. */
  noiseFactor: 4,
  /**
   * A change of speed by this factor is reported after a single round, while smaller changes need more parts. If a second round has
   * arrived, the first round counts only if it was slower by this factor.
   */
  largeChange: 2,
  /** Efforts are uneven if their typical distance from the median is at least this (as a difference of logarithms). */
  unevenFrom: 0.15,
  /** At each end, the range of rates goes beyond the rates of both halves by this factor. */
  margin: 1.18,
};
