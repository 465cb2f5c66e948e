import { isAllowed, type Policy } from '../../src/calls/policy.js';
import { operations } from '../../src/tools/index.js';

/** Nothing is left out by settings. */
export const openPolicy: Policy = { readOnly: false, tools: undefined };

/** The sandbox also has the operations of S3-compatible stores. */
export const sandboxPolicy: Policy = { ...openPolicy, extensions: ['s3'] };

/** Returns the operations that a server offers under a policy. */
export const offeredBy = (policy: Policy) => operations.filter((operation) => isAllowed(policy, operation));

/** Names of all operations, for CLOUDOPS_TOOLS: those beyond the API reference are offered only by name. */
export const allNames = operations.map(({ name }) => name).join(',');

/** A call of every operation that succeeds on the sandbox. */
export const exampleCalls = operations.map(({ name, example }) => ({ name, arguments: { ...example } }));
