import type * as z from 'zod';
import type { JsonSchema } from '../../tools/define-operation.js';
import { fieldsDescription, pathsSchema } from '../../tools/schema/answer-paths.js';
import { isNamed, translatePath } from './argument-names.js';
import type { Argument } from './arguments.js';
import { ModelError } from './model.js';

/** The argument of a read that picks fields of the answer. */
interface FieldsArgument {
  readonly name: string;
  readonly schemas: Readonly<Record<string, z.ZodType>>;
  readonly listing: Readonly<Record<string, JsonSchema>>;
}

/**
 * Makes the argument, named `outputFields` if the API has an argument `fields`.
 * @param always paths that every pick has: the tokens of pages
 */
export function fieldsArgument(
  toolArguments: readonly Argument[],
  getAnswerFields: () => readonly Argument[],
  always: readonly string[],
): FieldsArgument {
  const name = toolArguments.some((argument) => isNamed(['fields'], argument)) ? 'outputFields' : 'fields';
  const readPath = (given: string) => {
    try {
      const path = translatePath(given, getAnswerFields(), { structure: 'the answer' });
      return { kind: 'path', path } as const;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      return { kind: 'problem', problem: error.message } as const;
    }
  };
  return {
    name,
    get schemas() {
      return { [name]: pathsSchema(readPath, always).optional() };
    },
    listing: { [name]: { type: 'array', items: { type: 'string' }, description: fieldsDescription } },
  };
}
