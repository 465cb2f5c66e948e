// What the MCP SDK takes from its surroundings. Its own choice for Node would bundle Ajv, which compiles schemas with
// `new Function` and is twice as large as the rest of the SDK; the only schema that it ever checks is our consent form.
export { default as process } from 'node:process';
export { CfWorkerJsonSchemaValidator as DefaultJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker';
