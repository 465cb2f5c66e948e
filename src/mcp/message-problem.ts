import { isObject } from '../util/objects.js';

/** The error of a JSON-RPC answer. */
export interface MessageProblem {
  readonly code: number;
  readonly message: string;
}

/**
 * Finds what is wrong with a message that the SDK would not answer or would silently change: it ignores a request whose `params` are no object,
 * and drops an argument `__proto__`, so that the call would be made without it.
 */
export function problemOfMessage(message: unknown): MessageProblem | undefined {
  const { params }: { readonly params?: unknown } = Object(message);
  if (params === undefined) return undefined;
  if (!isObject(params)) return { code: -32600, message: 'params must be an object' };
  const { arguments: args } = params;
  if (isObject(args) && Object.hasOwn(args, '__proto__'))
    return { code: -32602, message: '__proto__: is not an argument' };
  return undefined;
}
