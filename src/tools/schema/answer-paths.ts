import * as z from 'zod';
import { unknownName } from '../../util/did-you-mean.js';
import { isObject } from '../../util/objects.js';
import { quoteName } from '../../util/quote.js';

/** This file has the argument that picks fields of an answer: `fields: ["Volumes[].VolumeId"]`. */

/** Maximum number of paths, and of characters in each. */
const mostPaths = 50;
const longestPath = 500;

type ReadPath =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'problem'; readonly problem: string };

/** Makes the schema of a list of paths, to which `always` is added. */
export const pathsSchema = (readPath: (path: string) => ReadPath, always: readonly string[] = []) =>
  z
    .array(
      z
        .string()
        .max(longestPath, `must have at most ${longestPath} characters`)
        .transform((given, context) => {
          const read = readPath(given);
          if (read.kind === 'path') return read.path;
          context.addIssue({ code: 'custom', message: `is not a path: ${read.problem}`, input: given });
          return z.NEVER;
        }),
    )
    .min(1, 'must have 1 entry or more')
    .max(mostPaths, `must have at most ${mostPaths} entries`)
    .transform((paths) => [...paths, ...always]);

/** Short, because errors say the rest. */
export const fieldsDescription = 'Answer only: Items[].Id';

/** Makes the argument of a read whose answer has the schema `output`. */
export const pickArgument = (output: () => z.ZodObject, always?: readonly string[]) => ({
  fields: pathsSchema((path) => checkedPath(path, output(), fieldsInSchema), always)
    .describe(fieldsDescription)
    .optional(),
});

/** Checks a path by the names that an answer has. */
export const pathInAnswer = (path: string, answer: unknown): ReadPath => checkedPath(path, answer, fieldsInValue);

/** Undefined if the object may have any fields. */
type Fields = { readonly names: readonly string[]; readonly valueOf: (name: string) => unknown } | undefined;

function checkedPath(path: string, root: unknown, fieldsOf: (reached: unknown) => Fields): ReadPath {
  let reached = root;
  let place = 'the answer';
  for (const step of path.split('.')) {
    const [, name = ''] = /^([^[\]]*)(?:\[\d*\])*$/.exec(step) ?? [];
    const fields = fieldsOf(reached);
    if (fields === undefined) break;
    if (!fields.names.includes(name))
      return { kind: 'problem', problem: unknownName(name || path, `in ${place}`, fields.names) };
    reached = fields.valueOf(name);
    place = `${quoteName(name)} of ${place}`;
  }
  return { kind: 'path', path };
}

function fieldsInSchema(schema: unknown): Fields {
  if (schema instanceof z.ZodOptional) return fieldsInSchema(schema.unwrap());
  if (schema instanceof z.ZodArray) return fieldsInSchema(schema.element);
  const shape: Readonly<Record<string, unknown>> = schema instanceof z.ZodObject ? schema.shape : {};
  // A loose object, such as the owner of an upload.
  if (schema instanceof z.ZodObject && Object.keys(shape).length === 0) return undefined;
  return { names: Object.keys(shape), valueOf: (name) => shape[name] };
}

function fieldsInValue(value: unknown): Fields {
  // An empty list does not show which fields its entries have.
  if (Array.isArray(value) && value.length === 0) return undefined;
  const objects = [value].flat().filter(isObject);
  return {
    names: [...new Set(objects.flatMap((object) => Object.keys(object)))],
    valueOf: (name) => objects.flatMap((object) => object[name] ?? []),
  };
}
