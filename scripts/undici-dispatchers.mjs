// The part of undici that sends requests, two fifths of its size without fetch, caches and mocks. The build fails if a name
// is missing here.
import api from '../node_modules/undici/lib/api/index.js';
import Dispatcher from '../node_modules/undici/lib/dispatcher/dispatcher.js';

Object.assign(Dispatcher.prototype, api);

export { default as errors } from '../node_modules/undici/lib/core/errors.js';
export { default as Agent } from '../node_modules/undici/lib/dispatcher/agent.js';
export { default as EnvHttpProxyAgent } from '../node_modules/undici/lib/dispatcher/env-http-proxy-agent.js';
export { default as Pool } from '../node_modules/undici/lib/dispatcher/pool.js';
