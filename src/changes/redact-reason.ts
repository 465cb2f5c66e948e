import { secretsIn } from '../calls/resolve-call.js';
import { createRedactor } from '../transport/redact.js';
import { resolveStored } from './carry-out.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-context.js';
import { boundedReason } from './decline-reason.js';

/**
 * Shortens a person's reason for declining, and removes the secrets of the change from it. Without the operation, or if its call cannot be made
 * any more, a reason is kept only if the operation takes no secrets.
 */
export async function redactReason(
  reason: string | undefined,
  change: Change,
  run: ChangeRun,
): Promise<string | undefined> {
  const text = boundedReason(reason);
  const operation = run.operations.find(({ name }) => name === change.tool);
  if (text === undefined || operation === undefined) return undefined;
  try {
    const call = await resolveStored(operation, change, run);
    const keys = await call.endpoint.keys.current().catch(() => undefined);
    return createRedactor([...secretsIn(call), keys?.secretAccessKey, keys?.sessionToken]).clean(text);
  } catch {
    return operation.secrets === undefined ? text : undefined;
  }
}
