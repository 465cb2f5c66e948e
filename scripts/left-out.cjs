// Stands in for two parts of libraries that nothing uses: undici's HTTP/2, which undici itself turns off unless it is told otherwise,
// and pg's client for a native library, which is not a dependency of this package.
module.exports = function leftOut() {
  throw new Error('HTTP/2 and pg-native are not part of this package. Unset NODE_PG_FORCE_NATIVE.');
};
