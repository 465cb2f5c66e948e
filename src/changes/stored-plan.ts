import * as z from 'zod';
import { type EndedOutcome, type Plan, resultSchemas } from '../calls/outcome.js';
import { lazy } from '../util/objects.js';

/**
 * Schemas of the plans and the outcomes in a store. Another version of this server may have written them. So the fields that are shown
 * or acted on are checked, and fields that this version does not know are kept.
 */
export const storedSchemas = lazy(() => {
  const { text, plan: knownPlan, success: knownSuccess, failure } = resultSchemas();
  const plan: z.ZodType<Plan> = knownPlan.loose();
  const success = knownSuccess.extend({ plan: plan.exactOptional() }).loose();
  // A stored plan has only the final outcome of its change, so the other kinds of view do not occur.
  const view = z.object({ kind: z.literal('ended'), continues: z.boolean(), isSandbox: z.boolean().exactOptional() });
  const outcome: z.ZodType<EndedOutcome> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('succeeded'), success, view: view.exactOptional() }),
    z.object({ kind: z.literal('failed'), failure: failure.loose() }),
  ]);
  return { text, plan, outcome };
});
