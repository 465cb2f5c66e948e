import type { Change } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { defined, detail, join, own, quoted, type SafeText, say } from '../../util/safe-text.js';
import { nameEndings } from './answer-summary.js';
import type { Argument } from './arguments.js';
import type { ChosenOperation } from './chosen-operation.js';

/** Length limit of an identifying value (characters). */
const longestValue = 60;

/**
 * Returns the texts of a change for its plan and its question. Texts come from the model and from the settings in the file of operations.
 * `defined` shows them as they are, `own` does so for a single name, and `quoted` puts the value of an argument in quotation marks.
 * @param apiName name of the API for people: the prefix of its tools, or its name in settings
 */
export function changeTexts(
  { operation, toolArguments, settings, isSecret }: ChosenOperation,
  apiName: string,
): Change {
  const title = defined(sentenceCase(nameInWords(operation.name)));
  // Secrets are left out, because the texts of a change must not show them.
  const visible = toolArguments.filter((argument) => !isSecret(argument));
  // For example, `clusterId` and `nodeId` identify a node, and `nodeId` is the resource argument. If no argument identifies the resource, the
  // resource argument is undefined.
  const identifying = identifyingArguments(visible, operation.http.uri);
  const resourceArgument = resourceArgumentOf(identifying, operation.name);
  const otherIdentifying = identifying.filter((argument) => argument !== resourceArgument);
  // The settings of a change always have `costsMoney` (`readSettings`). The default is for the compiler.
  const {
    costsMoney = true,
    irreversible,
    continues = true,
    consequences = [],
    notChecked = [],
    ifTooLarge,
  } = settings;
  return {
    costsMoney,
    continues,
    ...(irreversible !== undefined && { irreversible }),
    // The decision in one sentence, such as `Delete book in library: book ID "a1"`.
    headline: (input) => {
      const ids = idTexts(identifying, input);
      if (ids.length === 0) return say`${title} in ${own(apiName)}`;
      // `detail` marks the name of the API as the first text to leave out if the headline has to be shorter.
      return say`${title}${detail(say` in ${own(apiName)}`)}: ${join(ids, ', ')}`;
    },
    // The label with which a person accepts the change, such as `Delete book "a1"`.
    accept: (input) => {
      const value = resourceArgument === undefined ? undefined : input[resourceArgument.name];
      return value === undefined ? title : say`${title} ${quoted(String(value), longestValue)}`;
    },
    consequences: () => [
      ...(costsMoney ? [say`It costs money.`] : []),
      ...consequences.map((sentence) => defined(sentence)),
    ],
    warnings: () => [],
    notChecked,
    // The last argument has to be the resource argument, whose value people type to confirm a deletion.
    identifies: [...namesOf(otherIdentifying), ...(resourceArgument === undefined ? [] : [resourceArgument.name])],
    // The arguments that the headline shows. The question about the change lists all others.
    named: namesOf(identifying),
    // If nobody knows whether the change happened, the advice is "look in the console for" and this text.
    verificationHint: (input) => {
      if (settings.verificationHint !== undefined) return defined(settings.verificationHint);
      return join([say`the effect of ${own(operation.name)}`, ...idTexts(identifying, input)], ', ');
    },
    ...(ifTooLarge !== undefined && { ifTooLarge }),
  };
}

const namesOf = (list: readonly Argument[]): readonly string[] => list.map(({ name }) => name);

/** Returns a text such as `book ID "a1"` for each identifying argument in a call. */
function idTexts(identifying: readonly Argument[], input: Readonly<Record<string, unknown>>): readonly SafeText[] {
  const givenNames = namesOf(identifying).filter((name) => input[name] !== undefined);
  return givenNames.map((name) => say`${defined(nameInWords(name))} ${quoted(String(input[name]), longestValue)}`);
}

/** Returns the arguments in the path of the URI, in its order, or else the required texts that are named like an ID, a name or an ARN. */
function identifyingArguments(toolArguments: readonly Argument[], uriPath: string): readonly Argument[] {
  const namesInPath = [...uriPath.matchAll(/\{([^{}+]+)\+?\}/g)].map(([, memberName]) => memberName);
  const inPath = namesInPath.flatMap((nameInPath) =>
    toolArguments.filter(({ location, memberName }) => location === 'path' && memberName === nameInPath),
  );
  if (inPath.length > 0) return inPath;

  const isNamedLikeId = (name: string) => nameEndings.some((ending) => ending.test(nameInWords(name)));
  return toolArguments.filter(
    ({ name, memberName, isRequired, rules }) =>
      isRequired && rules.kind === 'text' && (isNamedLikeId(name) || isNamedLikeId(memberName)),
  );
}

/**
 * Returns the argument that has the name or ID of the changed resource. It is an argument with the last word of the operation, such as
 * `PolicyName` of `DeleteUserPolicy`. Otherwise it is the last argument in the path, because a path goes from a resource to the resources
 * in it. If no argument is in the path, it is the first argument.
 */
function resourceArgumentOf(identifying: readonly Argument[], operationName: string): Argument | undefined {
  const words = nameInWords(operationName).toLowerCase();
  const namesake = identifying.find(({ memberName }) => {
    const memberWords = nameInWords(memberName).toLowerCase();
    const kind = nameEndings.reduce((text, ending) => text.replace(ending, ''), memberWords).trim();
    return kind !== '' && words.endsWith(` ${kind}`);
  });
  const fallback = identifying.at(0)?.location === 'path' ? identifying.at(-1) : identifying.at(0);
  return namesake ?? fallback;
}
