/** Uploads that nobody recorded: made up from a seed, with the truth about every moment. Times in milliseconds, sizes in bytes. */

export interface Upload {
  readonly name: string;
  readonly size: number;
  /** The time at which the upload was started. */
  readonly initiatedMs: number;
  /** [number, bytes, time] of each part that arrived, by time. */
  readonly arrivals: readonly (readonly [number, number, number])[];
  /** [number, begin, end] of each request. */
  readonly requests: readonly (readonly [number, number, number])[];
  readonly pausedMs?: readonly [number, number] | undefined;
  /** From then on the rate is another one. */
  readonly changedMs?: number | undefined;
  readonly killed: boolean;
}

export type Kind = 'steady' | 'slowing' | 'rising' | 'paused' | 'failing' | 'killed';
export type Order = 'ascending' | 'descending' | 'random';

export interface Shape {
  readonly kind: Kind;
  readonly order: Order;
  readonly connections: number;
  /** Rounds of parts: the upload has about so many times `connections` parts. */
  readonly rounds: number;
  readonly partSize: number;
  readonly bytesPerSecond: number;
  /** By so much do connections differ in speed, as a share. */
  readonly unevenness: number;
  /** From one part's number to the next. */
  readonly step: number;
  readonly firstNumber: number;
  readonly seed: number;
}

/** Shorter than this, a step of the simulation would not end. */
const instant = 1e-6;

export function simulate(shape: Shape): Upload {
  const { kind, connections, partSize, bytesPerSecond, seed } = shape;
  const random = randomOf(seed);
  const count = Math.max(connections + 2, Math.round(shape.rounds * connections), 12);
  const lastSize = Math.ceil(partSize * (0.1 + 0.9 * random()));
  const size = (count - 1) * partSize + lastSize;
  const usualSeconds = size / bytesPerSecond;
  const event = usualSeconds * (0.3 + 0.3 * random());
  const pause = 40 + 60 * random();
  const { rateAt, nextChange, pausedMs, changedMs } = ratesOf(shape, event, pause, random);

  const queue = orderOf(count, shape.order, random);
  const numberOf = (index: number) => shape.firstNumber + index * shape.step;
  const sizeOf = (index: number) => (index === count - 1 ? lastSize : partSize);
  interface Running {
    readonly index: number;
    readonly begun: number;
    readonly weight: number;
    left: number;
  }
  let running: Running[] = [];
  const arrivals: [number, number, number][] = [];
  const requests: [number, number, number][] = [];
  let time = 0.3 + random();
  const begin = (index: number) => {
    const weight = 1 + shape.unevenness * (2 * random() - 1);
    running.push({ index, begun: time, weight, left: sizeOf(index) * (1 + 0.01 * random()) });
  };
  const until = kind === 'killed' ? event : Number.POSITIVE_INFINITY;
  while (queue.length + running.length > 0 && time < until) {
    for (const index of queue.splice(0, connections - running.length)) begin(index);
    const weights = running.reduce((sum, { weight }) => sum + weight, 0);
    const rate = rateAt(time) / weights;
    const untilOneEnds = Math.min(...running.map(({ left, weight }) => left / (rate * weight)));
    const seconds = Math.min(untilOneEnds, nextChange(time) - time);
    time += seconds;
    for (const one of running) one.left -= seconds * rate * one.weight;
    const ended = running.filter(({ left }) => left <= 1);
    running = running.filter(({ left }) => left > 1);
    for (const { index, begun } of ended) {
      requests.push([numberOf(index), begun, time]);
      if (kind === 'failing' && random() < 0.08) begin(index);
      else arrivals.push([numberOf(index), sizeOf(index), time]);
    }
  }
  for (const { index, begun } of running) requests.push([numberOf(index), begun, time]);
  return {
    name: Object.values(shape).join(' '),
    size,
    initiatedMs: 0,
    arrivals: arrivals.map(([number, bytes, at]) => [number, bytes, ms(at)]),
    requests: requests.map(([number, from, to]) => [number, ms(from), ms(to)]),
    pausedMs,
    changedMs,
    killed: kind === 'killed',
  };
}

const ms = (seconds: number) => Math.round(seconds * 1000);

/** The rate of all connections together at a time in seconds, and the times at which it changes. */
function ratesOf({ kind, bytesPerSecond }: Shape, event: number, pause: number, random: () => number) {
  const factor = kind === 'slowing' ? 0.2 + 0.4 * random() : kind === 'rising' ? 1.8 + 2 * random() : 1;
  return {
    rateAt(time: number) {
      if (kind === 'paused' && time >= event && time < event + pause) return 0;
      return bytesPerSecond * (time >= event ? factor : 1);
    },
    nextChange: (time: number) =>
      [event, event + pause].find((change) => change > time + instant) ?? Number.POSITIVE_INFINITY,
    pausedMs: kind === 'paused' ? ([ms(event), ms(event + pause)] as const) : undefined,
    changedMs: factor === 1 ? undefined : ms(event),
  };
}

function orderOf(count: number, order: Order, random: () => number): number[] {
  const indexes = Array.from({ length: count }, (_, index) => index);
  if (order === 'descending') return indexes.reverse();
  if (order === 'ascending') return indexes;
  return indexes
    .map((index) => ({ index, by: random() }))
    .sort((a, b) => a.by - b.by)
    .map(({ index }) => index);
}

/** Numbers from 0 to 1, the same ones for the same seed. */
export function randomOf(seed: number): () => number {
  let state = (seed % 2147483646) + 1;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}
