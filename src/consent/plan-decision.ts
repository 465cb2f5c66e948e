import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { quoted, type SafeText, say, time, words } from '../util/safe-text.js';

/** The decision on a plan. Claiming the plan stores the decision, so the first decision counts, and later decisions change nothing. */
export type PlanDecision = z.output<ReturnType<typeof planDecisionSchema>>;

export const planDecisionSchema = lazy(() =>
  z.object({
    kind: z.enum(['accepted', 'declined', 'withdrawn']),
    /** Name of the person, if the person signed in. */
    person: z.string().optional(),
    /** Time of the decision (milliseconds since 1970). */
    at: z.number(),
    /** Why the person declined, without secrets. */
    reason: z.string().optional(),
  }),
);

/** The decision as a clause for people: `"bob" accepted this at 2026-11-20T10:04:00Z`. */
export function decisionText({ kind, person, at }: PlanDecision): SafeText {
  const byWhom = person === undefined ? words('somebody') : quoted(person, 100);
  const who = kind === 'withdrawn' ? words('its caller') : byWhom;
  return say`${who} ${words(deeds[kind])} this at ${time(new Date(at).toISOString())}`;
}

const deeds = { accepted: 'accepted', declined: 'declined', withdrawn: 'withdrew' } as const;
