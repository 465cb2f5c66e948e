// Stands in for the SDK's warning at each start on Node 20, which this package supports with the SDK that is bundled.
export const state = { warningEmitted: true };
export const emitWarningIfUnsupportedVersion = () => {};
