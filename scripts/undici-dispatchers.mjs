// Stands in for undici's index, and leaves out fetch, caches and mocks, which are three fifths of undici. The build fails if our code
// imports a name that is missing here.
import api from '../node_modules/undici/lib/api/index.js';
import Dispatcher from '../node_modules/undici/lib/dispatcher/dispatcher.js';

Object.assign(Dispatcher.prototype, api);

export { default as errors } from '../node_modules/undici/lib/core/errors.js';
export { default as Agent } from '../node_modules/undici/lib/dispatcher/agent.js';
export { default as EnvHttpProxyAgent } from '../node_modules/undici/lib/dispatcher/env-http-proxy-agent.js';
export { default as Pool } from '../node_modules/undici/lib/dispatcher/pool.js';
