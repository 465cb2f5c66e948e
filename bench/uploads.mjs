// Judges what list_parts says about uploads on recordings of real clients: npm run bench -- uploads [--json] [--each]
// With --choose it chooses the constants of the model on each of five random halves, and judges them on the other half (ten minutes).
// With --record FILE it records every client on every course anew and writes one upload a line. That takes a quarter of an hour, and
// needs rclone, the AWS CLI, s3cmd, and python3 with boto3.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { chooseOn, openModel } from './choose-constants.mjs';
import { recordUploads } from './record-uploads.mjs';
import { totalOf } from './score-uploads.mjs';
import { recordings } from './upload-recordings.mjs';

/** Uploads that are recorded at a time. Their rates together are far below what a core can do. */
const together = 8;
const splits = 5;
const percent = (share) => (Number.isNaN(share) ? '–' : `${(100 * share).toFixed(1)} %`);

const { values: options } = parseArgs({
  options: {
    record: { type: 'string' },
    json: { type: 'boolean' },
    each: { type: 'boolean' },
    choose: { type: 'boolean' },
  },
});

if (options.record === undefined) await judge();
else await record(options.record);

async function record(file) {
  writeFileSync(file, '');
  const onRecorded = (upload) => {
    appendFileSync(file, `${JSON.stringify(upload)}\n`);
    console.log(`${upload.name}: ${upload.arrivals.length} parts in ${Math.round(upload.endedMs / 1000)} s`);
  };
  await recordUploads(recordings, { together, onRecorded });
}

async function judge() {
  const uploads = readFileSync(new URL('../test/traces/uploads.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const model = await openModel();
  const scores = await model.scoresWith(uploads, model.tuned);
  if (options.each) for (const score of scores) console.log(score.name.padEnd(36), rowOf(totalOf([score])));
  const groups = { all: scores, ...groupsOf(scores) };
  const figures = Object.fromEntries(Object.entries(groups).map(([name, list]) => [name, totalOf(list)]));
  if (options.json) console.log(JSON.stringify(figures, undefined, 2));
  else for (const [name, total] of Object.entries(figures)) console.log(`${name.padEnd(18)} ${rowOf(total)}`);
  if (options.choose) await chooseOnHalves(uploads, model);
}

async function chooseOnHalves(uploads, model) {
  const indexes = uploads.map((_, index) => index);
  for (let split = 1; split <= splits; split += 1) {
    const [half, other] = halvesOf(indexes, split);
    const constants = await chooseOn(uploads, half, model);
    const scores = await model.scoresWith(uploads, constants);
    const ofHalf = (picked) => rowOf(totalOf(picked.map((index) => scores[index])));
    const changed = Object.entries(constants).filter(([name, value]) => value !== model.tuned[name]);
    console.log(`split ${split}, chosen on   ${ofHalf(half)}`);
    console.log(`split ${split}, judged on   ${ofHalf(other)}`);
    console.log(`split ${split}, constants   ${JSON.stringify(Object.fromEntries(changed))}`);
  }
}

function rowOf({
  uploads,
  given,
  wrong,
  bestKnownWrong,
  inRange,
  width,
  falseClaims,
  changesClaimed,
  inFlight,
  ...rest
}) {
  return [
    `${uploads} uploads`,
    `given ${percent(given)}`,
    `wrong ${percent(wrong)} (best known ${percent(bestKnownWrong)})`,
    `in range ${percent(inRange)} at width ${width.toFixed(2)}`,
    `false claims ${percent(falseClaims)}`,
    `changes claimed ${percent(changesClaimed)}`,
    `in flight ${percent(inFlight)}`,
    `false stops ${rest.falselyStopped}`,
    `dead after ${rest.stoppedAfter} s`,
  ].join(' · ');
}

/** Two random halves of a list, the same for the same seed. */
function halvesOf(list, seed) {
  let state = seed * 7919;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  const shuffled = list
    .map((entry) => [random(), entry])
    .sort(([a], [b]) => a - b)
    .map(([, entry]) => entry);
  return [shuffled.slice(0, list.length >> 1), shuffled.slice(list.length >> 1)];
}

function groupsOf(scores) {
  const names = [...new Set(scores.map(({ group }) => group))];
  return Object.fromEntries(names.map((name) => [name, scores.filter(({ group }) => group === name)]));
}
