import { setTimeout as delay } from 'node:timers/promises';
import type { Journal } from './journal.js';

/** Pause between two looks at the number of unwritten outcomes (milliseconds). */
const pollMs = 100;

/** Waits until the journal has written all outcomes, for at most `graceMs`. The journal tries again by itself until it is closed. */
export async function awaitOutcomes({ unwritten }: Pick<Journal, 'unwritten'>, graceMs: number): Promise<void> {
  for (let waitedMs = 0; unwritten() > 0 && waitedMs < graceMs; waitedMs += pollMs) await delay(pollMs);
}
