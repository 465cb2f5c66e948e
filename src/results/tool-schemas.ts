import type { Operation } from '../tools/define-operation.js';
import { inputJsonSchema, type JsonSchema, outputJsonSchema } from '../tools/schema/json-schema.js';
import { outputSchema } from './success.js';

/** What hosts are shown of a tool's arguments and answer. */
export interface ToolSchemas {
  readonly input: JsonSchema;
  readonly output: JsonSchema;
}

/**
 * Makes the schemas of a tool. That takes longer than a server may take to start: scripts/schemas.mjs does it beforehand, and the
 * server reads `src/tools/schemas.generated.json`.
 */
export const toolSchemas = ({ input, output, effect }: Operation): ToolSchemas => ({
  input: inputJsonSchema(input()),
  output: outputJsonSchema(outputSchema(effect, output())),
});
