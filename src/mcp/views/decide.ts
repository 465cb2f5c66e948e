import type { EndedOutcome } from '../../answers/outcome.js';
import { Refusal, refusalFailure } from '../../answers/refusal.js';
import type { CallOutcome } from '../../calls/context.js';
import type { Click } from '../../consent/input.js';
import type { Ticket, Tickets } from '../../consent/tickets.js';
import { InvalidToken } from '../../consent/tokens.js';
import type { Operation } from '../../tools/define-operation.js';
import { decideTool } from './contract/apps.js';
import { decisionSchema } from './offer.js';

/**
 * Carries out a click on the change view. The arguments are those of the tool `decide_change`: without a ticket of this server
 * that is still valid, for this caller and for a tool on offer, nothing is called: `call` carries out what was decided on.
 */
export async function decide(
  args: unknown,
  tickets: Tickets,
  operations: readonly Operation[],
  call: (operation: Operation, args: Ticket['args'], click: Click) => Promise<CallOutcome>,
): Promise<EndedOutcome> {
  const refuse = (code: 'TicketRefused' | 'TicketExpired'): EndedOutcome => ({
    kind: 'failed',
    failure: refusalFailure(decideTool, new Refusal(code, []), true),
  });
  const given = decisionSchema.safeParse(args);
  if (!given.success) return refuse('TicketRefused');
  const { ticket, decision } = given.data;
  try {
    const { tool, args: callArgs, claims } = tickets.open(ticket);
    const operation = operations.find(({ name }) => name === tool);
    if (operation === undefined) return refuse('TicketRefused');
    const outcome = await call(operation, callArgs, { decision, claims });
    // A click answers every question: there is none left to ask.
    return outcome.kind === 'inputRequired' ? refuse('TicketRefused') : outcome;
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error;
    return refuse(error.reason === 'expired' ? 'TicketExpired' : 'TicketRefused');
  }
}
