import { nameInWords } from '../../util/field-names.js';
import { lazy } from '../../util/objects.js';
import { fieldsAtAnyDepth } from './argument-paths.js';
import type { Argument, ValueRules } from './arguments.js';
import { shapeName } from './model.js';

/** Returns the names of the fields of an answer that agents pass back as arguments. */
export type FindPassedBackFields = (answerFields: readonly Argument[]) => readonly string[];

/**
 * Returns the function that finds the fields of an answer, at any depth, that agents pass back as `toolArguments`: `Key` in a list of objects
 * is `Key` of an object to delete. The field and the argument have the same name in the model and the same shape. A shape `String` matches
 * every shape, because many models use it for all names. Only texts that name a thing (`namesThing`) count.
 */
export function createPassedBackFinder(toolArguments: readonly Argument[]): FindPassedBackFields {
  const getArgumentShapes = lazy(() => shapesByName(toolArguments));
  return (answerFields) => {
    const isPassedBack = ([name, shape]: readonly [string, string]) => {
      const argumentShapes = getArgumentShapes().get(name) ?? [];
      return [...argumentShapes].some((each) => each === shape || isString(each) || isString(shape));
    };
    const names = textsIn(answerFields)
      .filter(isPassedBack)
      .map(([name]) => name)
      .filter((name) => namesThing.test(nameInWords(name)));
    return [...new Set(names)];
  };
}

/** Returns the shapes of the texts in arguments, by name, because arguments of several operations may have the same name. */
function shapesByName(toolArguments: readonly Argument[]): ReadonlyMap<string, ReadonlySet<string>> {
  const shapes = new Map<string, Set<string>>();
  for (const [name, shape] of textsIn(toolArguments))
    shapes.set(name, (shapes.get(name) ?? new Set<string>()).add(shape));
  return shapes;
}

/** Returns the name and the shape of each text at any depth, and of each list of texts. */
const textsIn = (fields: readonly Argument[]): readonly (readonly [name: string, shape: string])[] =>
  fieldsAtAnyDepth(fields).flatMap(({ memberName, rules }) => {
    const shape = textShape(rules);
    return shape === undefined ? [] : [[memberName, shape] as const];
  });

function textShape(rules: ValueRules): string | undefined {
  if (rules.kind === 'list') return textShape(rules.element());
  return rules.kind === 'text' ? rules.shape : undefined;
}

const isString = (shape: string) => shapeName(shape) === 'String';

/**
 * Matches the names of fields that name a thing. Invisible characters in passed-back fields are not escaped. In other texts they are, because
 * strangers could hide instructions in them.
 */
const namesThing = /\b(?:arn|id|key|marker|name|path|prefix|token|ur[il])s?$/i;
