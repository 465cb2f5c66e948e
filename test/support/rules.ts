import { Refusal } from '../../src/calls/refusal.js';
import { validate } from '../../src/calls/validate.js';
import type { Operation } from '../../src/tools/define-operation.js';

/** `adminCluster.nodePools.0.name` set to a value in a copy of some arguments. Only what lies on the path is copied. */
export function withValue(args: object, path: string, value: unknown): Record<string, unknown> {
  const [step = '', ...rest] = path.split('.');
  const copy: Record<string, unknown> = { ...args };
  const inner = rest.length === 0 ? value : valueWithin(copy[step], rest, value);
  if (inner === undefined) delete copy[step];
  else copy[step] = inner;
  return copy;
}

function valueWithin(parent: unknown, steps: readonly string[], value: unknown): unknown {
  const [step = ''] = steps;
  if (!/^\d+$/.test(step)) return withValue(Object(parent ?? {}), steps.join('.'), value);
  return Object.assign([], withValue(Object(parent ?? []), steps.join('.'), value));
}

/** The lines a caller would be told. */
export function problems(operation: Operation, args: unknown): readonly string[] {
  try {
    validate(operation, args);
    return [];
  } catch (error) {
    if (error instanceof Refusal) return error.problems.map(({ text }) => text);
    throw error;
  }
}

/** How a path stands at the beginning of a problem's line. */
export const shown = (path: string) => path.replace(/\.(\d+)/g, '[$1]');
