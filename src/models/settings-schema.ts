import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { Follow } from '../tools/define-operation.js';
import { unknownName } from '../util/did-you-mean.js';
import { valueAt } from '../util/objects.js';

/** This file has the schemas that the settings of models and the extensions of built-in changes share. */

/** An object with these fields only. The message about another field suggests the nearest. */
export const onlyFields = <Shape extends z.core.$ZodLooseShape>(shape: Shape, message?: string) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownName(key, 'a field', Object.keys(shape))).join('; ')
        : message,
  });

export const limitedText = (limit: number) =>
  z.string('must be text').min(1, 'must not be empty').max(limit, `must have at most ${limit} characters`);

export const matching = (rule: RegExp, expected: string) => z.string('must be text').regex(rule, `must be ${expected}`);

const sourcePath = matching(/^(input|answer)\.[\w.[\]-]{1,200}$/, 'a path such as input.instanceId');

export const followSchema = onlyFields({
  read: limitedText(100),
  arguments: z.record(
    limitedText(100),
    z.union([sourcePath, z.tuple([sourcePath])], 'must be a path such as input.instanceId, or a list of one such path'),
  ),
  done: z.record(z.string(), limitedText(500)).optional(),
  failed: z.record(z.string(), z.array(limitedText(500)).max(50)).optional(),
  gone: z.boolean('must be true or false').optional(),
}) satisfies z.ZodType<Follow>;

/** Returns the problem in an issue of a schema, after the path of the field. */
function problemOf(value: unknown, { path, code, message }: z.core.$ZodIssue): string {
  const name = toDotPath(path);
  const problem = code === 'unrecognized_keys' || valueAt(value, name) !== undefined ? message : 'is missing';
  return name === '' ? problem : `${name}: ${problem}`;
}

/** The error for a file of operations, or a part of it, that cannot be used. Each problem is a sentence without a full stop. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
  readonly problems: readonly string[];

  constructor(...problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** @throws UnusableFile with the problems, each of which begins with the path of a field */
export function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = schema.safeParse(value);
  if (data === undefined) throw new UnusableFile(...(error?.issues ?? []).map((issue) => problemOf(value, issue)));
  return data;
}
