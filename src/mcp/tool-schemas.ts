import * as z from 'zod';
import type { Effect, JsonSchema, Operation } from '../tools/define-operation.js';
import { inputJsonSchema, outputJsonSchema } from './json-schema.js';

/** The schemas of a tool's arguments and answer, as hosts see them. */
export interface ToolSchemas {
  readonly input: JsonSchema;
  readonly output: JsonSchema;
}

/**
 * Makes the schemas of a tool. That takes longer than a server may take to start: scripts/schemas.mjs does it beforehand, and the
 * server reads `src/mcp/schemas.generated.json`.
 */
export const toolSchemas = ({ input, output, effect }: Operation): ToolSchemas => ({
  input: inputJsonSchema(input()),
  output: outputJsonSchema(outputSchema(effect, output())),
});

/** The advertised schema of an answer. Rare fields are left out: a list of tools has to stay short. */
function outputSchema(effect: Effect, answer: z.ZodObject): z.ZodObject {
  const change = {
    outcome: z.string().optional(),
    show: z.string().describe('the plan, for the user').optional(),
    plan: z.looseObject({}).optional(),
    planId: z.string().optional(),
  };
  return z.object({
    summary: z.string(),
    next: z.looseObject({}).describe('who has to act, action, text').optional(),
    ...(effect !== 'read' && change),
    warnings: z.array(z.string()),
    requestIds: z.record(z.string(), z.string()).describe('for support'),
    answer: answer.describe('from the cloud'),
  });
}
