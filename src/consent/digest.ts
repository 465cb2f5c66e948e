import type { PlannedCall } from '../answers/plan.js';
import { digestOf } from '../util/digest.js';

/** Hexadecimal digits of a digest: 128 bits, because models copy the tokens that hold it. */
const digits = 32;

/** Binds consent to the tool, the arguments, the endpoint, the account, and to a repetition being meant. */
export function consentDigest({ operation, input, endpoint }: PlannedCall, allowRepeat: boolean): string {
  const { origin, pathPrefix, region, service, credentials } = endpoint;
  const bound = [operation.name, input, origin, pathPrefix, region, service, credentials.accessKeyId, allowRepeat];
  return digestOf(bound).slice(0, digits);
}
