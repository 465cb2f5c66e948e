// Stands in for undici's index, and leaves out fetch, caches, mocks, and the methods that undici's index adds to dispatchers, except
// `connect`, with which a proxy agent opens tunnels. Our code calls only `dispatch`, `close` and `destroy`. The build fails if our code imports a name that is missing here.
import connect from '../node_modules/undici/lib/api/api-connect.js';
import Dispatcher from '../node_modules/undici/lib/dispatcher/dispatcher.js';

Dispatcher.prototype.connect = connect;

export { default as buildConnector } from '../node_modules/undici/lib/core/connect.js';
export { default as errors } from '../node_modules/undici/lib/core/errors.js';
export { default as Agent } from '../node_modules/undici/lib/dispatcher/agent.js';
export { default as Pool } from '../node_modules/undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from '../node_modules/undici/lib/dispatcher/proxy-agent.js';
