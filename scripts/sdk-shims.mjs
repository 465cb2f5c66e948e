// Replaces the MCP SDK's shims for Node. They would bundle Ajv, which compiles schemas with `new Function` and is twice as large
// as the rest of the SDK. Only `elicitInput` needs it, which this server does not call.
export { default as process } from 'node:process';

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('The SDK checks no JSON Schema in this server.');
  }
}
