import { digestOf } from '../util/digest.js';
import { makePlan, type PlannedCall } from './plan.js';

/** Hexadecimal digits of a digest: 128 bits, because models copy the tokens that hold it. */
const digits = 32;

/**
 * Binds consent to the tool, the arguments, the endpoint, the account and where its keys come from, the request as it will be sent, the
 * plan that is shown, and the change that it repeats; not to the key of the hour, nor to what was found before it, which change by themselves.
 * @param repeats see `PendingChange`
 */
export function consentDigest({ found: _, ...call }: PlannedCall, repeats: string | boolean): string {
  const { operation, input, endpoint, request } = call;
  const { origin, pathPrefix, region, service, account, keys } = endpoint;
  const target = [origin, pathPrefix, region, service, account, keys.id];
  const plan = makePlan({ ...call, keyId: '' });
  const bound = [operation.name, input, target, request, plan, repeats];
  return digestOf(bound).slice(0, digits);
}
