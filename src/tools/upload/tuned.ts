/**
 * Constants of the model in `pace.ts`, chosen on recorded uploads: `npm run bench -- uploads --choose`. Limits of S3 and promises to users
 * are not among them.
 */
export const tuned = {
  /** The number of connections is the smallest whose unevenness is at most this many times the least unevenness. */
  sureFactor: 1.2,
  /** The same if the start of the upload is unknown, because then too many connections explain the times as well as the right number. */
  doubtfulFactor: 2.5,
  /** Efforts that differ by this share are as even as can be expected. */
  evenEnough: 0.05,
  /** A burst is apart from the parts after it by this many times its own length. */
  apartFactor: 8,
  /** Share of the time since the start after which a silence ends the first round. */
  firstRoundSilence: 0.15,
  /** Parts without a known start that are certainly more than one round. */
  moreThanOneRound: 20,
  /** A silence is a pause if it lasts this many times as long as the longest other silence. */
  pauseFactor: 1.9,
  /** A part in flight for this many times the usual effort is overdue. */
  overdueFactor: 1.7,
  /** Differences this many times as large as the noise of one round are not noise. */
  noiseFactor: 4,
  /** One round is enough to show a change this large. */
  largeChange: 2,
  /** Efforts with a larger typical distance from their median are not even. */
  unevenFrom: 0.15,
  /** The range goes beyond the rates of both halves by this factor. */
  margin: 1.18,
};
