// Chooses the constants of the model of uploads (src/tools/upload/tuned.ts) on some recordings.
import { bundleLines } from '../scripts/bundle.mjs';
import { scoreUpload, totalOf } from './score-uploads.mjs';

/** Factors by which a constant is tried, one after the other. */
const steps = [0.7, 0.85, 1.15, 1.4];
/** At most this many rounds over all constants. */
const rounds = 2;
/** A smaller gain is noise. */
const leastGain = 0.002;

/** The source as one module, in which the constants can be replaced. */
export async function openModel() {
  const code = await bundleLines(
    `export { summarise } from './src/tools/upload/summary.js';
    export { tuned } from './src/tools/upload/tuned.js';`,
    { platform: 'node', transform: { target: 'node20' }, resolve: { mainFields: ['module', 'main'] } },
  );
  const load = (text) => import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  const { tuned } = await load(code);
  const known = new Map();
  /** The scores of all uploads with some constants. */
  const scoresWith = async (uploads, constants) => {
    const key = JSON.stringify(constants);
    if (!known.has(key)) {
      const { summarise } = await load(code.replace(/tuned = \{[\s\S]*?\n\}/, `tuned = ${key}`));
      known.set(
        key,
        uploads.map((upload) => ({ ...scoreUpload(upload, summarise), group: upload.group })),
      );
    }
    return known.get(key);
  };
  return { tuned, scoresWith };
}

/** Lower is better: wrong points and missed ranges, and what each promise costs that is not kept. */
export function lossOf({ given, wrong, inRange, width, falseClaims, changesClaimed, inFlight, falselyStopped }) {
  const above = (value, limit) => Math.max(0, value - limit);
  return (
    wrong +
    (1 - inRange) +
    above(0.93, given) +
    above(width, 1.62) +
    5 * falseClaims +
    0.3 * (1 - changesClaimed) +
    above(0.92, inFlight) +
    falselyStopped
  );
}

/** Changes one constant at a time as long as the loss on some uploads falls. `picked` are indexes of `uploads`. */
export async function chooseOn(uploads, picked, { tuned, scoresWith }) {
  const lossWith = async (constants) => {
    const scores = await scoresWith(uploads, constants);
    return lossOf(totalOf(picked.map((index) => scores[index])));
  };
  let best = { constants: tuned, loss: await lossWith(tuned) };
  for (let round = 0; round < rounds; round += 1) {
    const before = best;
    for (const name of Object.keys(tuned)) {
      for (const step of steps) {
        const constants = { ...best.constants, [name]: Number((tuned[name] * step).toPrecision(3)) };
        const loss = await lossWith(constants);
        if (loss < best.loss - leastGain) best = { constants, loss };
      }
    }
    if (best === before) break;
  }
  return best.constants;
}
