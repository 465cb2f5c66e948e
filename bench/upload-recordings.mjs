// What `bench -- uploads --record` records: every client on every course. Sizes in MiB, rates in MiB/s.

const clients = [
  { label: 'rclone', client: 'rclone', connections: 4, rate: 1.2 },
  { label: 'rclone-bwlimit', client: 'rclone', connections: 4, rate: 1.2, isLimited: true },
  { label: 'aws', client: 'aws cli', connections: 10, rate: 2 },
  { label: 'boto3', client: 'boto3', connections: 5, rate: 1.4 },
  { label: 's3cmd', client: 's3cmd', connections: 1, rate: 0.9 },
  { label: 'minio', client: 'minio-js', connections: 1, rate: 1 },
  { label: 'lib', client: 'lib-storage', connections: 8, rate: 1.7 },
];

/** Seconds that the size takes at the first rate, and what the course needs. */
const courses = [
  { course: 'steady', seconds: 130 },
  { course: 'fall', seconds: 85, changedMs: 50_000 },
  { course: 'rise', seconds: 200, changedMs: 70_000 },
  { course: 'pause', seconds: 115, pausedMs: [45_000, 100_000] },
  { course: 'retries', seconds: 105 },
  { course: 'one slow connection', seconds: 110 },
];

/** `--bwlimit` holds the rate of rclone; the proxy lets a little more through, but for a part of a course with a change. */
const proxyFactor = { rise: 0.4, fall: 1.2 };

function recordingOf({ label, isLimited, ...client }, { course, seconds, ...rest }, index) {
  const rate = Number((client.rate * (0.8 + 0.1 * (index % 5))).toFixed(2));
  const size = Math.round(rate * seconds * (course === 'rise' && isLimited ? 0.55 : 1)) - (index % 4);
  const shown = course === 'one slow connection' && client.connections === 1 ? 'wave' : course;
  return {
    ...client,
    ...rest,
    name: `${label}-${shown.replaceAll(' ', '-')}`,
    course: shown,
    size,
    partSize: 5 + (index % 3 === 2 ? 1 : 0),
    rate: isLimited ? Number((rate * (proxyFactor[course] ?? 2)).toFixed(2)) : rate,
    ...(isLimited && { limit: rate }),
    ...(course === 'retries' && { seed: index }),
  };
}

const resumed = { course: 'resumed', partSize: 5 };
export const recordings = [
  ...clients.flatMap((client, row) => courses.map((course, column) => recordingOf(client, course, 2 * row + column))),
  {
    ...resumed,
    name: 'boto3-resumed',
    client: 'boto3',
    connections: 4,
    size: 160,
    rate: 1.4,
    killedAfter: 45_000,
    resumedAfter: 60_000,
  },
  {
    ...resumed,
    name: 'boto3-resumed-late',
    client: 'boto3',
    connections: 3,
    size: 140,
    rate: 1.2,
    killedAfter: 30_000,
    resumedAfter: 150_000,
  },
  {
    ...resumed,
    name: 's3cmd-resumed',
    client: 's3cmd',
    connections: 1,
    size: 110,
    rate: 0.9,
    killedAfter: 50_000,
    resumedAfter: 45_000,
  },
  {
    ...resumed,
    name: 's3cmd-resumed-late',
    client: 's3cmd',
    connections: 1,
    size: 120,
    rate: 1,
    killedAfter: 40_000,
    resumedAfter: 180_000,
  },
  {
    name: 'rclone-killed',
    client: 'rclone',
    connections: 4,
    partSize: 5,
    size: 200,
    rate: 1.2,
    course: 'killed',
    killedAfter: 60_000,
  },
  {
    name: 'lib-killed',
    client: 'lib-storage',
    connections: 5,
    partSize: 5,
    size: 200,
    rate: 1.3,
    course: 'killed',
    killedAfter: 70_000,
  },
];
