// Compares the summary of a recorded upload, moment by moment, with what came afterwards.
// cspell:ignore straggl retr resum
//
// Times in a recording are milliseconds since its start. arrivals: [part, bytes, ms]; requests: [part, begin, end, status].
// Not scored: moments within a pause; moments before a change of speed; and moments after either until one round of parts that were
// begun after it has arrived.

const stepMs = 6000;
/** A dead upload is watched for this long after its last part. */
const watchMs = 1_900_000;
const epoch = Date.parse('2026-11-20T12:00:00Z');
const unsteady = /rate \d|\d→\d|slow|stall|stutter|straggl|retr|jitter|resum|wave|chang/i;

const isDead = ({ name }) => /kill/.test(name);
const isSteady = (upload) =>
  !upload.changedMs && !upload.paused && !isDead(upload) && !unsteady.test(`${upload.kind} ${upload.name}`);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const endOf = ({ arrivals }) => Math.max(...arrivals.map(([, , ms]) => ms));

/** 1 for a rise, -1 for a fall, 0 if the rate does not change once. */
function directionOf({ kind }) {
  const [, before, after] = /rate ([\d.]+)→([\d.]+)/.exec(kind) ?? [];
  return before === undefined ? 0 : Math.sign(Number(after) - Number(before));
}

/** The time at which one round of parts that were begun after `ms` has arrived. */
function roundSeenAt({ requests, connections }, ms) {
  const ends = requests.filter(([, begin, , status]) => begin >= ms && status === 200).map(([, , end]) => end);
  return ends.sort((a, b) => a - b)[connections - 1] ?? Number.POSITIVE_INFINITY;
}

/** Seconds left at a moment, not counting a pause ahead, and whether the moment is in a pause or scored. */
function truthAt(upload, now) {
  const { arrivals, paused, changedMs } = upload;
  const pauseAhead = paused && now < paused[0] ? paused[1] - paused[0] : 0;
  const left = (endOf(upload) - now - pauseAhead) / 1000;
  const firstAfter = paused ? Math.min(...arrivals.map(([, , ms]) => ms).filter((ms) => ms > paused[1])) : 0;
  const inPause = Boolean(paused) && now >= paused[0] && now <= Math.max(paused[1], firstAfter);
  const isPauseUnseen = Boolean(paused) && now > paused[0] && now < roundSeenAt(upload, paused[1]);
  const isChangeUnseen = Boolean(changedMs) && now < roundSeenAt(upload, changedMs);
  return { left, inPause, isScored: !inPause && !isPauseUnseen && !isChangeUnseen && left >= 10 };
}

const isWrong = (point, left) => Math.abs(point - left) > Math.max(0.3 * left, 5);

const wholeSeconds = (ms) => Math.floor(ms / 1000) * 1000;

/** The answer about an upload at a moment. Moments are half seconds of the service, whose times are whole seconds. */
export function answerAt({ arrivals, initiatedMs, size }, now, summarise) {
  const parts = new Map();
  for (const [partNumber, bytes, ms] of arrivals)
    if (ms <= now) parts.set(partNumber, { partNumber, size: bytes, uploadedAt: wholeSeconds(epoch + 500 + ms) });
  const checkedAt = new Date(wholeSeconds(epoch + 500 + now)).toISOString();
  const startedAt = new Date(epoch + 500 + initiatedMs).toISOString();
  return summarise([...parts.values()], { expectedBytes: size }, { checkedAt, startedAt });
}

function* momentsOf(upload) {
  for (let now = upload.arrivals[0][2] + 500; now < endOf(upload) - 5000; now += stepMs) yield now;
}

/** The scores of one upload: lists with 0 or 1 for each moment, and counts. */
export function scoreUpload(upload, summarise) {
  const score = { given: [], wrong: [], inRange: [], width: [], falseClaims: [], known: [] };
  const counts = { named: 0, inFlight: 0, falselyStopped: 0, changes: 0, changesClaimed: 0, stoppedAfter: 0 };
  counts.changes = Math.abs(directionOf(upload));
  for (const now of momentsOf(upload)) {
    const answer = answerAt(upload, now, summarise);
    countInFlight(counts, upload, now, answer);
    if (!isDead(upload)) scoreMoment(score, counts, upload, now, answer);
  }
  if (isDead(upload)) counts.stoppedAfter = stoppedAfter(upload, summarise);
  return { name: upload.name, ...score, ...counts };
}

function scoreMoment(score, counts, upload, now, answer) {
  const truth = truthAt(upload, now);
  if (answer.stopped && !truth.inPause) counts.falselyStopped += 1;
  if (isSteady(upload)) score.falseClaims.push(answer.rateSince === undefined ? 0 : 1);
  if (isClaimed(upload, now, answer)) counts.changesClaimed = 1;
  if (truth.isScored) scoreTimeLeft(score, upload, now, answer, truth.left);
}

function scoreTimeLeft(score, upload, now, { estimatedSecondsLeft: point, secondsLeft }, left) {
  const known = bestKnown(upload, now);
  if (known !== undefined) score.known.push(isWrong(known, left) ? 1 : 0);
  const isGiven = secondsLeft !== undefined && secondsLeft.to <= 4 * Math.max(1, secondsLeft.from);
  score.given.push(isGiven ? 1 : 0);
  if (!isGiven) return;
  const { from, to } = secondsLeft;
  score.wrong.push(isWrong(point ?? Math.sqrt(Math.max(1, from) * Math.max(1, to)), left) ? 1 : 0);
  score.inRange.push(left >= from - 3 && left <= to + 3 ? 1 : 0);
  score.width.push(Math.log(to / Math.max(1, from)));
}

function countInFlight(counts, { requests }, now, { inFlight = [] }) {
  const open = new Set(requests.filter(([, begin, end]) => begin <= now && end > now).map(([number]) => number));
  for (const { from, to } of inFlight)
    for (let number = from; number <= to; number += 1) {
      counts.named += 1;
      if (open.has(number)) counts.inFlight += 1;
    }
}

function isClaimed(upload, now, { rateSince, bytesPerSecond, bytesPerSecondBefore }) {
  const direction = directionOf(upload);
  if (direction === 0 || rateSince === undefined || now < roundSeenAt(upload, upload.changedMs)) return false;
  return Math.sign(bytesPerSecond - bytesPerSecondBefore) === direction;
}

function stoppedAfter(upload, summarise) {
  const end = endOf(upload);
  for (let now = end; now < end + watchMs; now += 15_000)
    if (answerAt(upload, now, summarise).stopped) return Math.round((now - end) / 1000);
  return Number.POSITIVE_INFINITY;
}

/** Seconds left by somebody who knows what was sent of each part, and when the speed changed and the client paused. */
function bestKnown({ arrivals, requests, size, changedMs, paused }, now) {
  const sizes = new Map(arrivals.map(([number, bytes]) => [number, bytes]));
  const sentBy = (time) =>
    requests
      .filter(([, begin, , status]) => status === 200 && begin < time)
      .reduce((sum, [number, begin, end]) => sum + sizes.get(number) * Math.min(1, (time - begin) / (end - begin)), 0);
  const from = changedMs && now > changedMs ? changedMs : Math.min(...requests.map(([, begin]) => begin));
  const pausedMs = paused && now > paused[1] ? paused[1] - paused[0] : 0;
  const bytesPerMs = (sentBy(now) - sentBy(from)) / (now - from - pausedMs);
  return bytesPerMs > 0 ? (size - sentBy(now)) / bytesPerMs / 1000 : undefined;
}

/** The figures of several uploads together; every moment has the same weight. */
export function totalOf(scores) {
  const all = (field) => scores.flatMap((score) => score[field]);
  const sum = (field) => scores.reduce((total, score) => total + score[field], 0);
  return {
    uploads: scores.length,
    given: mean(all('given')),
    wrong: mean(all('wrong')),
    bestKnownWrong: mean(all('known')),
    inRange: mean(all('inRange')),
    width: Math.exp(mean(all('width'))),
    falseClaims: mean(all('falseClaims')),
    changesClaimed: sum('changesClaimed') / sum('changes'),
    inFlight: sum('inFlight') / sum('named'),
    falselyStopped: sum('falselyStopped'),
    stoppedAfter: Math.max(...scores.map((score) => score.stoppedAfter)),
  };
}
