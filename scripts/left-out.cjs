// Stands in for parts of libraries that nothing uses: undici's HTTP/2, which undici itself turns off unless it is told otherwise, undici's bodies
// of form data and streams, prom-client's push gateway, clusters, summaries and makers of buckets, and pg's client for a native library, which
// is not a dependency of this package.
module.exports = function leftOut() {
  throw new Error('HTTP/2, form data and pg-native are not part of this package. Unset NODE_PG_FORCE_NATIVE.');
};
