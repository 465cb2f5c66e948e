import * as z from 'zod';
import { type EndedOutcome, type Plan, resultSchemas } from '../calls/outcome.js';
import { lazy } from '../util/objects.js';

/** Schemas of stored plans and outcomes. Another version may have written them, so unknown fields are kept. */
export const storedSchemas = lazy(() => {
  const { text, plan: knownPlan, success: knownSuccess, failure } = resultSchemas();
  const plan: z.ZodType<Plan> = knownPlan.loose();
  const success = knownSuccess.extend({ plan: plan.exactOptional() }).loose();
  // A stored outcome has no other kind of view.
  const view = z.object({ kind: z.literal('ended'), continues: z.boolean(), isSandbox: z.boolean().exactOptional() });
  const outcome: z.ZodType<EndedOutcome> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('succeeded'), success, view: view.exactOptional() }),
    z.object({ kind: z.literal('failed'), failure: failure.loose() }),
  ]);
  return { text, plan, outcome };
});
