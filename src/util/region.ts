/** This file has the rules for names of regions. */

/**
 * Matches a region that can be signed: visible ASCII without the comma and the slash, which separate the parts of a signature. Stores that are
 * not AWS name their regions as they like, such as `RegionOne` or `US`.
 */
export const signableRegion = /^[!-+.0-~-]{1,64}$/;

/** Matches a region that may be a part of a host name, without choosing another domain. */
export const regionInHost = /^[a-z0-9]+(-[a-z0-9]+)*$/;
