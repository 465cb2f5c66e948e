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
  /** Name of the API for people: the prefix of its tools, or its name in settings. */
  readonly apiName: string;
  readonly fields: readonly Argument[];
  readonly settings: OperationSettings;
}

/** Length limit of an identifying value (characters). */
const longestValue = 60;

/** Returns the texts of a change for its plan and its question. The headline names the operation and the changed resource. */
export function changeTexts({ api, apiName, fields, settings }: ChangeSource): Change {
  const title = defined(sentenceCase(nameInWords(api)));
  const identifying = identifyingArguments(fields);
  const identifyingNames = identifying.map(({ name }) => name);
  const [mainName] = identifyingNames;
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
      // `detail` marks the name of the API as the first text to leave out if the headline has to be shorter.
      return say`${title}${detail(say` in ${own(apiName)}`)}: ${join(ids, ', ')}`;
    },
    accept: (input) => {
      const value = mainName === undefined ? undefined : input[mainName];
      return value === undefined ? title : say`${title} ${quoted(String(value), longestValue)}`;
    },
    consequences: () => [
      ...(costsMoney ? [say`It costs money.`] : []),
      ...consequences.map((sentence) => defined(sentence)),
    ],
    warnings: () => [],
    notChecked,
    // The first argument counts as the name of the resource, which has to be the last path of `identifies`.
    identifies: [...identifyingNames].reverse(),
    named: identifyingNames,
    verificationHint: (input) =>
      verificationHint === undefined
        ? join([say`the effect of ${own(api)}`, ...idTexts(identifying, input)], ', ')
        : defined(verificationHint),
    ...(ifTooLarge !== undefined && { ifTooLarge }),
  };
}

/** Returns a text such as `book ID "a1"` for each identifying argument in a call. */
function idTexts(identifying: readonly Argument[], input: Readonly<Record<string, unknown>>): readonly SafeText[] {
  const names = identifying.map(({ name }) => name).filter((name) => input[name] !== undefined);
  return names.map((name) => say`${defined(nameInWords(name))} ${quoted(String(input[name]), longestValue)}`);
}

/** Returns the arguments in the path. If there are none, returns required texts that are named like an ID, a name or an ARN. */
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
