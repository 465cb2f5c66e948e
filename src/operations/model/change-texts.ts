import type { Change } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { defined, detail, join, own, quoted, type SafeText, say } from '../../util/safe-text.js';
import { nameEndings } from './answer-summary.js';
import type { Argument } from './arguments.js';
import type { OperationSettings } from './model-settings.js';

/** The facts for the texts about a change. */
interface ChangeSource {
  /** Name of the operation in the model, such as `CreateBook`. */
  readonly operationName: string;
  /** Path of the operation, with labels: `/clusters/{clusterId}/nodes/{nodeId}`. */
  readonly path: string;
  /** Name of the API for people: the prefix of its tools, or its name in settings. */
  readonly apiName: string;
  readonly fields: readonly Argument[];
  readonly settings: OperationSettings;
}

/** Length limit of an identifying value (characters). */
const longestValue = 60;

/**
 * Returns the texts of a change for its plan and its question. Texts come from the model and from the settings in the file of operations.
 * `defined` shows them as they are, `own` does so for a single name, and `quoted` puts the value of an argument in quotation marks.
 */
export function changeTexts({ operationName, path, apiName, fields, settings }: ChangeSource): Change {
  const title = defined(sentenceCase(nameInWords(operationName)));
  const identifying = identifyingArguments(fields, path);
  const identifyingNames = identifying.map(({ name }) => name);
  // The argument whose value is the name of the changed resource. Undefined if no argument identifies the resource.
  const resourceArgument = resourceArgumentName(identifying, operationName);
  // The settings of a change always have `costsMoney` (`readSettings`). The default is for the compiler.
  const { costsMoney = true, irreversible, continues, consequences, notChecked, ifTooLarge } = settings;
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
      const value = resourceArgument === undefined ? undefined : input[resourceArgument];
      return value === undefined ? title : say`${title} ${quoted(String(value), longestValue)}`;
    },
    consequences: () => [
      ...(costsMoney ? [say`It costs money.`] : []),
      ...consequences.map((sentence) => defined(sentence)),
    ],
    warnings: () => [],
    notChecked,
    // The values of these arguments identify the resource. The last one has to be its name, which people type to confirm a deletion.
    identifies: [
      ...identifyingNames.filter((name) => name !== resourceArgument),
      ...(resourceArgument === undefined ? [] : [resourceArgument]),
    ],
    // The arguments that the headline shows, in any order. The question about the change lists all others.
    named: identifyingNames,
    // If nobody knows whether the change happened, the advice is "look in the console for" and this text.
    verificationHint: (input) => {
      if (settings.verificationHint !== undefined) return defined(settings.verificationHint);
      return join([say`the effect of ${own(operationName)}`, ...idTexts(identifying, input)], ', ');
    },
    ...(ifTooLarge !== undefined && { ifTooLarge }),
  };
}

/** Returns a text such as `book ID "a1"` for each identifying argument in a call. */
function idTexts(identifying: readonly Argument[], input: Readonly<Record<string, unknown>>): readonly SafeText[] {
  const names = identifying.map(({ name }) => name).filter((name) => input[name] !== undefined);
  return names.map((name) => say`${defined(nameInWords(name))} ${quoted(String(input[name]), longestValue)}`);
}

/** Returns the arguments in the path, in its order, or else the required texts that are named like an ID, a name or an ARN. */
function identifyingArguments(fields: readonly Argument[], path: string): readonly Argument[] {
  const labels = [...path.matchAll(/\{([^{}+]+)\+?\}/g)].map(([, member]) => member);
  const inPath = labels.flatMap((label) =>
    fields.filter(({ location, member }) => location === 'path' && member === label),
  );
  if (inPath.length > 0) return inPath;
  return fields.filter(
    ({ name, member, isRequired, rules }) =>
      isRequired &&
      rules.kind === 'text' &&
      nameEndings.some((ending) => [name, member].some((candidate) => ending.test(nameInWords(candidate)))),
  );
}

/**
 * Returns the name of the argument that names the changed resource. It is an argument with the last word of the operation, such as
 * `PolicyName` of `DeleteUserPolicy`. Otherwise it is the last argument in the path, because a path goes from a resource to the resources
 * in it. If no argument is in the path, it is the first argument.
 */
function resourceArgumentName(identifying: readonly Argument[], operationName: string): string | undefined {
  const words = nameInWords(operationName).toLowerCase();
  const namesake = identifying.find(({ member }) => {
    const memberWords = nameInWords(member).toLowerCase();
    const kind = nameEndings.reduce((text, ending) => text.replace(ending, ''), memberWords).trim();
    return kind !== '' && words.endsWith(` ${kind}`);
  });
  const fallback = identifying.at(0)?.location === 'path' ? identifying.at(-1) : identifying.at(0);
  return (namesake ?? fallback)?.name;
}
