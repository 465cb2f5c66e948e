import { expect, test } from 'vitest';
import { checkRegions } from '../../src/calls/policy.js';
import { Refusal } from '../../src/consent/refusal.js';

/** CLOUDOPS_REGIONS limits the regions and zones in arguments, also under the names that models give them. */

const policy = { readOnly: false, tools: undefined, regions: ['jp-east-1'] };

test.each([{ Region: 'jp-west-1' }, { Copies: [{ SourceRegion: 'jp-west-1' }] }, { AvailabilityZones: ['west-12'] }])(
  '%j is refused',
  (input) => {
    expect(() => checkRegions(policy, undefined, { ...input })).toThrow(Refusal);
  },
);

test.each([
  { Region: 'jp-east-1' },
  { SourceRegion: 'jp-east-1' },
  { AvailabilityZone: 'east-11' },
  { RegionCount: 'x' },
])('%j is allowed', (input) => {
  expect(() => checkRegions(policy, 'jp-east-1', { ...input })).not.toThrow();
});
