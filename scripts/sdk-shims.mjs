// What the MCP SDK takes from its surroundings. Its own choice for Node would bundle Ajv, which compiles schemas with
// `new Function` and is twice as large as the rest of the SDK. It is for `elicitInput` alone, which this server does not call.
export { default as process } from 'node:process';

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('The SDK checks no JSON Schema in this server.');
  }
}
