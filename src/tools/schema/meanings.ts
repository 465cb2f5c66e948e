import { defined, own, quoted, type SafeText, say } from '../../util/safe-text.js';
import values from './values.json' with { type: 'json' };

/** A status with its meaning: `configuring (being changed)`. */
export function withMeaning(value: string, meanings: Readonly<Record<string, string>>): SafeText {
  const meaning = Object.hasOwn(meanings, value) ? meanings[value] : undefined;
  return meaning === undefined
    ? say`${quoted(value, 60)} (not among the documented values)`
    : say`${own(value)} (${defined(meaning)})`;
}

/** Meanings of the states of resource groups, clusters and DevOps servers (docs/API.md: States), as the names suggest them. */
export const { resourceGroupStatus, clusterStatus, devopsState, devopsStatusCode, devopsStatusName } = values;
