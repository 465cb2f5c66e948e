/**
 * How often a property is tried: all the given times where `CI` is set, as by `.ci/run`, and a twentieth of them where
 * somebody waits for it.
 */
export const runs = (inCi: number): number => (process.env.CI === undefined ? Math.ceil(inCi / 20) : inCi);
