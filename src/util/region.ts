/** Commas and slashes separate the parts of a signature. */
export const signableRegion = /^[!-+.0-~-]{1,64}$/;

/** A region in a host name, which cannot choose another domain. */
export const regionInHost = /^[a-z0-9]+(-[a-z0-9]+)*$/;
