import type { JsonSchema, Operation } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { isNamed } from './argument-paths.js';
import { type Argument, argumentsOf } from './arguments.js';
import { checkSupported, isSetByServer } from './check-supported.js';
import type { Codec } from './codec.js';
import { documentationText, shortenText } from './documentation-text.js';
import { type Member, type Model, ModelError, type ModelOperation, textTrait } from './model.js';
import { type ModelPages, pagesOf } from './model-pages.js';
import type { OperationSettings, ReadSettings } from './model-settings.js';
import { isSecretIn } from './secret-members.js';

/** Everything that the operations of a model share. */
export interface ModelContext {
  readonly model: Model;
  readonly codec: Codec;
  readonly settings: ReadSettings;
  /** Schemas of the arguments that this server adds to changes, by name. */
  readonly control: Readonly<Record<'repeatable' | 'other', Readonly<Record<string, JsonSchema>>>>;
}

/** An operation of a model with the choices of the file, before its list of arguments is shortened. */
export interface ChosenOperation {
  readonly operation: ModelOperation;
  readonly settings: OperationSettings;
  readonly texts: Pick<Operation, 'name' | 'title' | 'description'>;
  readonly fields: readonly Argument[];
  readonly isSecret: (field: Argument) => boolean;
  readonly pages: ModelPages | undefined;
}

/**
 * Reads an operation of a model.
 * @throws ModelError if it cannot be offered
 */
export function chooseOperation(
  { model, settings: fileSettings }: ModelContext,
  name: string,
  settings: OperationSettings,
): ChosenOperation {
  const operation = model.operation(name);
  checkSupported(model, operation);
  const pages = settings.effect === 'read' ? pagesOf(model, operation) : undefined;
  const isHidden = (member: Member) =>
    isSetByServer(operation, member) || (pages?.hidden.includes(member.name) ?? false);
  const title = settings.title ?? sentenceCase(nameInWords(name));
  return {
    operation,
    settings,
    texts: {
      name: toolNameOf(fileSettings, name),
      title,
      description: settings.description ?? descriptionOf(operation, title),
    },
    fields: chosenArguments(argumentsOf(model, operation.input, isHidden), settings),
    isSecret: isSecretIn(settings.secretNames),
    pages,
  };
}

const longestDescription = 90;

/** The name that the file gives the tool, or one that is made of prefix and operation, such as `devops_list_backups`. */
export const toolNameOf = ({ prefix, operations }: ReadSettings, api: string): string =>
  operations[api]?.name ??
  [prefix, ...nameInWords(api).toLowerCase().split(/\W+/)].filter((part) => part !== undefined).join('_');

const descriptionOf = ({ traits }: ModelOperation, title: string): string =>
  shortenText(documentationText(textTrait(traits, 'smithy.api#documentation') ?? ''), longestDescription) ||
  `${title}.`;

/**
 * The arguments that the settings choose.
 * @throws ModelError for a name that is no argument, and if a required argument is left out
 */
function chosenArguments(fields: readonly Argument[], { only, omit }: OperationSettings): readonly Argument[] {
  const unknown = [...(only ?? []), ...omit].filter((name) => !fields.some((field) => isNamed([name], field)));
  if (unknown.length > 0)
    throw new ModelError(`${unknown.join(', ')}: is no argument, so only and omit cannot name it`);
  const chosen = fields.filter((field) => (only === undefined || isNamed(only, field)) && !isNamed(omit, field));
  const missing = fields.filter((field) => field.isRequired && !chosen.includes(field)).map(({ name }) => name);
  if (missing.length > 0) throw new ModelError(`${missing.join(', ')}: is required, so it cannot be left out`);
  return chosen;
}
