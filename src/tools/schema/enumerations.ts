import values from './values.json' with { type: 'json' };

/**
 * Lists of allowed values that several fields share (docs/API.md: Instance types, Zones). `defaultZones` has, for each region, the zone that
 * RestoreInstance uses if the request names none.
 */
export const {
  volumeTypes,
  accountingTypes,
  nodeInstanceTypes,
  workstationInstanceTypes,
  devopsInstanceTypes,
  deploymentModels,
  devopsZones,
  defaultZones,
  objectStorageRegions,
} = values;
