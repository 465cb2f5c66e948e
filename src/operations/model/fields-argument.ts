import * as z from 'zod';
import type { JsonSchema } from '../../tools/define-operation.js';
import { isNamed, translatePath } from './argument-paths.js';
import type { Argument } from './arguments.js';
import { ModelError } from './model.js';

/** This file has the argument of reads that picks fields of the answer. */

interface FieldsArgument {
  readonly name: string;
  readonly schemas: Readonly<Record<string, z.ZodType>>;
  /** Its JSON Schema, as hosts see it. */
  readonly listing: Readonly<Record<string, JsonSchema>>;
}

/** Maximum number of paths, and the length limit of each (characters). */
const mostPaths = 50;
const longestPath = 500;

/**
 * Makes the argument. It is named `fields`, or `outputFields` if the API has an argument `fields`.
 * @param always paths that every pick has: the tokens of pages
 */
export function fieldsArgument(
  toolArguments: readonly Argument[],
  getAnswerFields: () => readonly Argument[],
  always: readonly string[],
): FieldsArgument {
  const name = toolArguments.some((argument) => isNamed(['fields'], argument)) ? 'outputFields' : 'fields';
  const makePath = () =>
    z
      .string()
      .max(longestPath, `must have at most ${longestPath} characters`)
      .transform((given, context) => {
        try {
          return translatePath(given, getAnswerFields(), 'memberName', {
            setting: 'is not a path',
            structure: 'the answer',
          });
        } catch (error) {
          if (!(error instanceof ModelError)) throw error;
          context.addIssue({ code: 'custom', message: error.message, input: given });
          return z.NEVER;
        }
      });
  const makeSchema = () =>
    z
      .array(makePath())
      .min(1, 'must have 1 entry or more')
      .max(mostPaths, `must have at most ${mostPaths} entries`)
      .transform((paths) => [...paths, ...always])
      .describe('Parts of the answer by their paths, such as Volumes[].VolumeId. The rest is left out.');
  return {
    name,
    // Made at the first use, because most operations are never called.
    get schemas() {
      return { [name]: makeSchema().optional() };
    },
    listing: { [name]: { type: 'array', items: { type: 'string' }, description: 'Answer only: Items[].Id' } },
  };
}
