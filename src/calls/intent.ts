import type { Intent } from '../journal/entry.js';
import type { Consent } from './consent.js';
import type { PendingChange } from './context.js';

/** What the journal says of a change before it is sent. */
export function intentOf(
  { call: { operation, request, endpoint }, plan: { summary, url }, key, context, dependencies }: PendingChange,
  { how, nonce, answeredAfterMs }: Consent,
): Intent {
  const { client, principal } = context;
  const { newId, now, process } = dependencies;
  return {
    id: newId(),
    time: now().toISOString(),
    tool: operation.name,
    what: summary,
    target: `${request.method} ${url}`,
    account: endpoint.credentials.accessKeyId,
    client,
    caller: principal?.name,
    consent: how,
    digest: key,
    nonce,
    answeredAfterMs,
    process,
  };
}
