import * as z from 'zod';
import { bounded, boundedCaller, maximumBytes } from './bounds.js';
import { type Ending, endingSchema, type Intent, intentSchema } from './journal.js';

const maximumRequestIds = 8;

export const boundedIntent = (intent: Intent): Intent => ({
  ...intent,
  what: bounded(intent.what, maximumBytes.what),
  target: bounded(intent.target, maximumBytes.target),
  account: bounded(intent.account, maximumBytes.account),
  client: bounded(intent.client, maximumBytes.client),
  ...(intent.caller !== undefined && { caller: boundedCaller(intent.caller) }),
});

export const boundedEnding = (ending: Ending): Ending => ({
  ...ending,
  ...(ending.code !== undefined && { code: bounded(ending.code, maximumBytes.code) }),
  ...(ending.requestIds !== undefined && {
    requestIds: Object.fromEntries(
      Object.entries(ending.requestIds)
        .slice(0, maximumRequestIds)
        .map(([name, value]) => [bounded(name, maximumBytes.requestId), bounded(value, maximumBytes.requestId)]),
    ),
  }),
});

/**
 * Older versions do not understand an entry with a value that they do not know. They get the nearest that they know, and
 * the value itself is in `exactly`.
 */
const forOlder = { clicked: 'asked', declined: 'rejected' } as const;

export const storedIntent = (intent: Intent): object =>
  intent.consent === 'clicked' ? { ...intent, consent: forOlder.clicked, exactly: intent.consent } : intent;

export const storedEnding = (ending: Ending): object =>
  ending.outcome === 'declined' ? { ...ending, outcome: forOlder.declined, exactly: ending.outcome } : ending;

export const storedIntentSchema = intentSchema
  .extend({ exactly: z.literal('clicked').optional().catch(undefined) })
  .transform(({ exactly, ...intent }): Intent => (exactly === undefined ? intent : { ...intent, consent: exactly }));

export const storedEndingSchema = endingSchema
  .extend({ exactly: z.literal('declined').optional().catch(undefined) })
  .transform(({ exactly, ...ending }): Ending => (exactly === undefined ? ending : { ...ending, outcome: exactly }));
