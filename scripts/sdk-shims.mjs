// Stands in for the MCP SDK's Node shims, and leaves Ajv out. Ajv is twice as large as the rest of the SDK and compiles schemas with
// `new Function`. Only `elicitInput` needs Ajv, and this server does not call `elicitInput`.
export { default as process } from 'node:process';

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('The SDK checks no JSON Schema in this server.');
  }
}
