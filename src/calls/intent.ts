import type { Plan, PlannedCall } from '../consent/plan.js';
import type { Intent } from '../journal/entry.js';
import type { Consent } from './consent.js';
import type { CallContext, CallDependencies } from './context.js';

/** What the journal says of a change before it is sent. */
export function intentOf(
  { operation, request, endpoint }: PlannedCall,
  { summary, url }: Plan,
  digest: string,
  { how, nonce, answeredAfterMs }: Pick<Consent, 'how' | 'nonce' | 'answeredAfterMs'>,
  { client, principal }: Pick<CallContext, 'client' | 'principal'>,
  { id, now, process }: { readonly id: string } & Pick<CallDependencies, 'now' | 'process'>,
): Intent {
  return {
    id,
    time: now().toISOString(),
    tool: operation.name,
    what: summary,
    target: `${request.method} ${url}`,
    account: endpoint.credentials.accessKeyId,
    client,
    caller: principal?.name,
    consent: how,
    digest,
    nonce,
    answeredAfterMs,
    process,
  };
}
