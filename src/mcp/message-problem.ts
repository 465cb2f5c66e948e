import { isObject } from '../util/objects.js';

/** The error of a JSON-RPC answer. */
interface MessageProblem {
  readonly code: number;
  readonly message: string;
}

/**
 * Finds two problems of a message that the SDK does not report. The SDK ignores a request whose `params` are no object. The SDK or zod silently
 * drops a field `__proto__` of the arguments, at any depth, and the call would be made without the field.
 */
export function problemOfMessage(message: unknown): MessageProblem | undefined {
  const { params }: { readonly params?: unknown } = Object(message);
  if (params === undefined) return undefined;
  if (!isObject(params)) return { code: -32600, message: 'params must be an object' };
  const { arguments: args } = params;
  if (holdsProto(args)) return { code: -32602, message: '__proto__: is not an argument' };
  return undefined;
}

/** True if an object in the value has a field `__proto__`. Uses no recursion, because a message may be nested deeply. */
function holdsProto(value: unknown): boolean {
  const remaining = [value];
  while (remaining.length > 0) {
    const inner = remaining.pop();
    if (typeof inner !== 'object' || inner === null) continue;
    if (Object.hasOwn(inner, '__proto__')) return true;
    for (const field of Object.values(inner)) remaining.push(field);
  }
  return false;
}
