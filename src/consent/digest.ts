import { makePlan, type PlannedCall } from '../answers/plan.js';
import { wireForm } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/** Hexadecimal digits of a digest: 128 bits, because models copy the tokens that hold it. */
const digits = 32;

/**
 * Binds consent to the tool, the arguments, the endpoint, the account, the request as it will be sent, the plan that is shown, and the
 * change that it repeats; not to what was found before it, which changes by itself.
 * @param repeats see `PendingChange`
 */
export function consentDigest({ found: _, ...call }: PlannedCall, repeats: string | boolean): string {
  const { operation, input, endpoint, request } = call;
  const { origin, pathPrefix, region, service, credentials } = endpoint;
  const target = [origin, pathPrefix, region, service, credentials.accessKeyId];
  const bound = [operation.name, input, target, request.method, wireForm(endpoint, request), makePlan(call), repeats];
  return digestOf(bound).slice(0, digits);
}
