import * as z from 'zod';
import type { EndedOutcome, Plan } from '../calls/outcome.js';
import { actions, actors } from '../tools/next.js';
import { lazy } from '../util/objects.js';
import { fromServer, type Part, type SafeText } from '../util/safe-text.js';

/**
 * Schemas of the plans and the outcomes in a store. Another version of this server may have written them. So the fields that are shown
 * or acted on are checked, and fields that this version does not know are kept.
 */
export const storedSchemas = lazy(() => {
  // JSON has no infinity, which means no limit, and writes null.
  const length = z
    .number()
    .nullable()
    .transform((limit) => limit ?? Number.POSITIVE_INFINITY);
  const part: z.ZodType<Part> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('words'), text: z.string() }),
    z.object({
      kind: z.literal('quoted'),
      value: z.string(),
      limit: length.exactOptional(),
      longest: length.exactOptional(),
    }),
    z.object({ kind: z.literal('name'), name: z.string(), longest: length.exactOptional() }),
    z.object({ kind: z.literal('exact'), value: z.string() }),
    z.object({ kind: z.literal('time'), time: z.number() }),
    z.object({ kind: z.literal('argument'), path: z.string() }),
    z.object({ kind: z.literal('detail'), parts: z.lazy(() => parts) }),
    z.object({
      kind: z.literal('readers'),
      readers: z.object({ agent: z.lazy(() => parts), person: z.lazy(() => parts), operator: z.lazy(() => parts) }),
    }),
  ]);
  const parts: z.ZodType<readonly Part[]> = z.array(part).readonly();
  const text: z.ZodType<SafeText> = z.object({ parts }).transform((stored) => fromServer(stored.parts));
  const texts = z.array(text).readonly();
  const fields = z.record(z.string(), z.unknown()).readonly();
  const words = z.record(z.string(), z.string()).readonly();
  const table = z.object({ title: text, columns: texts, rows: z.array(texts).readonly(), more: z.number() });
  const plan: z.ZodType<Plan> = z.looseObject({
    summary: text,
    method: z.string(),
    url: z.string(),
    headers: words,
    where: texts,
    found: text.exactOptional(),
    alert: text.exactOptional(),
    consequences: texts,
    risks: z.array(z.enum(['costs money', 'no way back'])).readonly(),
    also: z.object({ fields: texts, lists: texts }).exactOptional(),
    tables: z.array(table).readonly().exactOptional(),
    sandbox: z.literal(true).exactOptional(),
    defaults: z.array(z.object({ name: text, value: text })).readonly(),
    warnings: texts,
    notChecked: texts,
  });
  const next = z.object({ who: z.enum(actors), action: z.enum(actions), text });
  const attempts = z.array(z.object({ result: z.string(), waitedMs: z.number().exactOptional() })).readonly();
  const success = z.looseObject({
    summary: text,
    outcome: z.enum(['accepted', 'partly', 'planned', 'waiting', 'withdrawn']).exactOptional(),
    failed: z.object({ count: z.number(), codes: texts, names: texts }).exactOptional(),
    account: z.string().exactOptional(),
    next: next.exactOptional(),
    consent: text.exactOptional(),
    sentAt: z.string().exactOptional(),
    where: texts.exactOptional(),
    effects: texts.exactOptional(),
    plan: plan.exactOptional(),
    show: text.exactOptional(),
    changeId: z.string().exactOptional(),
    decideAt: z.string().exactOptional(),
    planExpires: z.string().exactOptional(),
    warnings: texts,
    requestIds: words,
    attempts: attempts.exactOptional(),
    notes: texts.exactOptional(),
    answer: fields.exactOptional(),
  });
  const earlier = z.object({
    outcome: z.enum(['accepted', 'unknown', 'not ended']),
    sentAt: z.string(),
    requestIds: words,
  });
  const failure = z.looseObject({
    summary: text,
    code: z.string(),
    account: z.string().exactOptional(),
    problems: texts,
    status: z.number().optional(),
    serviceSays: words.exactOptional(),
    changeId: z.string().exactOptional(),
    outcome: z.enum(['rejected', 'declined', 'withdrawn', 'not sent', 'unknown']).exactOptional(),
    mayHaveHappened: z.boolean().optional(),
    next,
    requestIds: words,
    attempts: attempts.exactOptional(),
    defaults: texts.exactOptional(),
    warnings: texts.exactOptional(),
    notes: texts.exactOptional(),
    earlier: earlier.exactOptional(),
  });
  // A stored plan has only the final outcome of its change, so the other kinds of view do not occur.
  const view = z.object({ kind: z.literal('ended'), continues: z.boolean(), isSandbox: z.boolean().exactOptional() });
  const outcome: z.ZodType<EndedOutcome> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('succeeded'), success, view: view.exactOptional() }),
    z.object({ kind: z.literal('failed'), failure }),
  ]);
  return { text, plan, outcome };
});
