import type { Change } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { defined, detail, join, own, quoted, type SafeText, say } from '../../util/safe-text.js';
import { nameEndings } from './answer-summary.js';
import type { Argument } from './arguments.js';
import type { OperationSettings } from './model-settings.js';

/** The facts for the texts about a change. */
interface ChangeSource {
  /** Name of the operation in the API. */
  readonly api: string;
  /** Name of the API for people: the prefix of its tools, or its service. */
  readonly apiName: string;
  readonly fields: readonly Argument[];
  readonly settings: OperationSettings;
}

/** Length limit of an identifying value (characters). */
const longestValue = 60;

/** The texts of plan and question. The headline has the operation and the arguments that identify the resource. */
export function changeTexts({ api, apiName, fields, settings }: ChangeSource): Change {
  const title = defined(sentenceCase(nameInWords(api)));
  const identifying = identifyingArguments(fields);
  const [main] = identifying;
  const {
    costsMoney = true,
    irreversible,
    continues,
    consequences,
    notChecked,
    verificationHint,
    ifTooLarge,
  } = settings;
  return {
    costsMoney,
    continues,
    ...(irreversible !== undefined && { irreversible }),
    headline: (input) => {
      const ids = idTexts(identifying, input);
      if (ids.length === 0) return say`${title} in ${own(apiName)}`;
      return say`${title}${detail(say` in ${own(apiName)}`)}: ${join(ids, ', ')}`;
    },
    accept: (input) => {
      const value = main === undefined ? undefined : input[main.name];
      return value === undefined ? title : say`${title} ${quoted(String(value), longestValue)}`;
    },
    consequences: () => [
      ...(costsMoney ? [say`It costs money.`] : []),
      ...consequences.map((sentence) => defined(sentence)),
    ],
    warnings: () => [],
    notChecked,
    // The last one is the name of the thing.
    identifies: identifying.map(({ name }) => name).reverse(),
    named: identifying.map(({ name }) => name),
    verificationHint: (input) =>
      verificationHint === undefined
        ? join([say`the effect of ${own(api)}`, ...idTexts(identifying, input)], ', ')
        : defined(verificationHint),
    ...(ifTooLarge !== undefined && { ifTooLarge }),
  };
}

/** `book ID "a1"` for each identifying argument that is given. */
const idTexts = (identifying: readonly Argument[], input: Readonly<Record<string, unknown>>): readonly SafeText[] =>
  identifying.flatMap(({ name }) =>
    input[name] === undefined ? [] : [say`${defined(nameInWords(name))} ${quoted(String(input[name]), longestValue)}`],
  );

/** The arguments that identify the resource: those in the path, and otherwise required texts that are named like an ID, a name or an ARN. */
function identifyingArguments(fields: readonly Argument[]): readonly Argument[] {
  const inPath = fields.filter(({ location }) => location === 'path');
  if (inPath.length > 0) return inPath;
  return fields.filter(
    ({ name, member, isRequired, value }) =>
      isRequired &&
      value.kind === 'text' &&
      nameEndings.some((ending) => [name, member].some((candidate) => ending.test(nameInWords(candidate)))),
  );
}
