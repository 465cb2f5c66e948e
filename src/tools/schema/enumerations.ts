/** This file has lists of allowed values that several fields share (docs/API.md: Instance types). */

const words = (text: string): string[] => text.trim().split(/\s+/);

export const volumeTypes = words(
  'standard-flash-storage-a standard-flash-storage-b high-speed-flash-storage-a high-speed-flash-storage-b',
);

export const accountingTypes = words('pay-per-use monthly');

const largeNodes = words(`
  h2-double-large16 h2-double-large24 h2-double-large32 h2-double-large48 h2-double-large64 h2-double-large96
  h2-triple-large32 h2-triple-large48 h2-triple-large64 h2-triple-large96 h2-triple-large128
  h2-quad-large64 h2-quad-large96 h2-quad-large128 h2-septa-large128`);

/** Server types for nodes of the control plane and of node pools. */
export const nodeInstanceTypes = [
  ...words(`h2-large16 h2-large24 h2-large32
    h2-extra-large16 h2-extra-large24 h2-extra-large32 h2-extra-large48`),
  ...largeNodes,
];

/** Server types for the admin workstation, the largest last, as `serversText` expects. */
export const workstationInstanceTypes = [
  ...words(`h2-medium4 h2-medium8 h2-medium16 h2-medium24 h2-large h2-large8 h2-large16 h2-large24 h2-large32
    h2-extra-large8 h2-extra-large16 h2-extra-large24 h2-extra-large32 h2-extra-large48`),
  ...largeNodes,
];

export const devopsInstanceTypes = words(`
  c-large c-large8 e-large e-large8 e-large16 e-large24 e-large32
  e-extra-large8 e-extra-large16 e-extra-large24 e-extra-large32 e-extra-large48
  e-double-large16 e-double-large24 e-double-large32 e-double-large48 e-double-large64 e-double-large96
  h2-large h2-large8 h2-large16 h2-large24 h2-large32
  h2-extra-large8 h2-extra-large16 h2-extra-large24 h2-extra-large32 h2-extra-large48
  h2-double-large16 h2-double-large24 h2-double-large32 h2-double-large48 h2-double-large64 h2-double-large96`);

export const deploymentModels = words('standalone multi hybrid');

export const devopsZones = words('east-11 east-12 east-13 east-14 east-31 west-12 west-13 jp-west-21');

/** For each region, the zone that RestoreInstance uses if the request names none (docs/API.md: Zones). */
export const defaultZones: Readonly<Record<string, string>> = {
  'jp-east-1': 'east-11',
  'jp-east-3': 'east-31',
  'jp-west-1': 'west-12',
  'jp-west-2': 'jp-west-21',
};

export const objectStorageRegions = words('jp-east-1 jp-west-2');
