import type { Change } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { defined, detail, join, own, quoted, type SafeText, say } from '../../util/safe-text.js';
import { nameEndings } from './answer-summary.js';
import type { Argument } from './arguments.js';
import type { OperationSettings } from './model-settings.js';

/** What the texts about a change need. */
export interface ChangeSource {
  /** Name of the operation in the API. */
  readonly api: string;
  /** Name of the API for people: the prefix of its tools, or its service. */
  readonly apiName: string;
  readonly fields: readonly Argument[];
  readonly settings: OperationSettings;
}

/** Characters of an identifying value. */
const longestValue = 60;

/** The texts of plan and question. The headline has the operation and the arguments that identify the resource. */
export function changeTexts({ api, apiName, fields, settings }: ChangeSource): Change {
  const identifying = identifyingArguments(fields);
  const title = defined(sentenceCase(nameInWords(api)));
  const ids = (input: Readonly<Record<string, unknown>>): readonly SafeText[] =>
    identifying.flatMap(({ name }) =>
      input[name] === undefined
        ? []
        : [say`${defined(nameInWords(name))} ${quoted(String(input[name]), longestValue)}`],
    );
  const headline = (input: Readonly<Record<string, unknown>>): SafeText => {
    const named = ids(input);
    return named.length === 0
      ? say`${title} in ${own(apiName)}`
      : say`${title}${detail(say` in ${own(apiName)}`)}: ${join(named, ', ')}`;
  };
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
    headline,
    accept: (input) => {
      const [first] = identifying;
      const value = first === undefined ? undefined : input[first.name];
      return value === undefined ? title : say`${title} ${quoted(String(value), longestValue)}`;
    },
    consequences: () => [
      ...(costsMoney ? [say`It costs money.`] : []),
      ...consequences.map((sentence) => defined(sentence)),
    ],
    warnings: () => [],
    notChecked,
    // The first one names the thing.
    identifies: identifying.map(({ name }) => name).reverse(),
    named: identifying.map(({ name }) => name),
    verificationHint: (input) =>
      verificationHint === undefined
        ? join([say`the effect of ${own(api)}`, ...ids(input)], ', ')
        : defined(verificationHint),
    ...(ifTooLarge !== undefined && { ifTooLarge }),
  };
}

/** The arguments that identify the resource: those in the path, and otherwise required texts that are named like an ID, a name or an ARN. */
export function identifyingArguments(fields: readonly Argument[]): readonly Argument[] {
  const inPath = fields.filter(({ location }) => location === 'path');
  if (inPath.length > 0) return inPath;
  return fields.filter(
    ({ name, member, isRequired, value }) =>
      isRequired &&
      value.kind === 'text' &&
      nameEndings.some((ending) => [name, member].some((candidate) => ending.test(nameInWords(candidate)))),
  );
}
