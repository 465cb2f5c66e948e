import { validate } from '../../src/calls/validate.js';
import { Refusal } from '../../src/consent/refusal.js';
import type { Operation } from '../../src/tools/define-operation.js';

/** `adminCluster.nodePools.0.name` set to a value in a copy of some arguments. */
export function withValue(args: object, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(args) as Record<string, unknown>;
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let at: Record<string, unknown> = copy;
  for (const [index, step] of steps.entries()) {
    at[step] ??= /^\d+$/.test(steps[index + 1] ?? last) ? [] : {};
    at = at[step] as Record<string, unknown>;
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** The lines a caller would be told. */
export function problems(operation: Operation, args: unknown): readonly string[] {
  try {
    validate(operation, args, 'jp-east-1');
    return [];
  } catch (error) {
    if (error instanceof Refusal) return error.problems.map(({ text }) => text);
    throw error;
  }
}

/** How a path stands at the beginning of a problem's line. */
export const shown = (path: string) => path.replace(/\.(\d+)/g, '[$1]');
