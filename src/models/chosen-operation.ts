import type * as z from 'zod';
import type { Follow, JsonSchema, Operation } from '../tools/define-operation.js';
import { fieldsDescription, pathsSchema } from '../tools/schema/answer-paths.js';
import { consentArguments } from '../tools/schema/fields.js';
import { nameInWords } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { startOfPage } from './answer-summary.js';
import { fieldsAtAnyDepth, isNamed, translatePath, unknownMember } from './argument-names.js';
import { checkSupported, isSetByServer } from './check-supported.js';
import type { Codec } from './codec.js';
import { secretsGivenOut } from './guess-effect.js';
import { type Member, type Model, ModelError, type ModelOperation, textTrait } from './model.js';
import { pagesOf } from './model-pages.js';
import type { OperationSettings, ParsedSettings } from './model-settings.js';
import { secrecyOf, withSecretNames } from './secret-members.js';

/** The rules of hosts, and of this server, for the tools of a model. */
export interface ToolRules {
  /** Makes the schema that hosts get. Absent for operations that are no tools of their own. */
  readonly inputSchema?: (schema: z.ZodObject) => JsonSchema;
  /** True if the tools list arguments for names of secrets. Calls may have them even if they are not listed. */
  readonly listsSecretNames: boolean;
}

export interface ModelSource {
  readonly model: Model;
  readonly file: Omit<ParsedSettings, 'operations'>;
  readonly names: readonly string[];
  /** Undefined if it is not offered. */
  readonly settingsOf: (name: string) => OperationSettings | undefined;
  readonly rules: ToolRules;
}

export interface ModelContext extends ModelSource {
  /** Loads the libraries of the protocols. */
  readonly loadCodec: () => Promise<Codec>;
  readonly ofChanges: ControlArguments;
  readonly findFollow: () => FindFollow;
  readonly choose: (name: string) => ChosenOperation;
  readonly operation: (name: string) => Operation;
}

/** Finds the read that shows the progress of a change, preferably one of `chosen`. */
export type FindFollow = (change: ModelOperation, chosen?: readonly string[]) => Follow | undefined;

/** The arguments that this server adds to a tool, such as `planOnly`. */
export interface ControlArguments {
  readonly schemas: Readonly<Record<string, z.ZodType>>;
  readonly listing: Readonly<Record<string, JsonSchema>>;
}

export type ChosenOperation = ReturnType<typeof chooseOperation>;

/** @throws ModelError if the operation is not supported, or the settings do not fit it */
export function chooseOperation(
  { model, file, settingsOf, ofChanges }: Pick<ModelContext, 'model' | 'file' | 'settingsOf' | 'ofChanges'>,
  name: string,
) {
  const operation = model.operation(name);
  const settings = settingsOf(name);
  if (settings === undefined) throw new ModelError(`${name} is not offered`);
  checkSupported(model, operation);

  const isRead = settings.effect === 'read';
  const pages = isRead ? pagesOf(model, operation) : undefined;
  const toolArguments = argumentsOf(operation);
  const answerFields = operation.output.members;
  refuseUnknownSecrets(settings, toolArguments, answerFields);
  const tokenPaths =
    pages?.tokens.map(({ path }) => path) ??
    answerFields.map((field) => field.name).filter((field) => startOfPage.test(field));
  const picking = isRead ? fieldsArgument(toolArguments, answerFields, tokenPaths) : undefined;
  const givesOut = secretsGivenOut(operation, settings.effect);
  const secrecy = secrecyOf(settings, toolArguments, answerFields, pages?.tokens ?? [], givesOut);
  return {
    operation,
    settings,
    name: settings.name ?? [...(file.prefix === undefined ? [] : [file.prefix]), ...wordsOf(name)].join('_'),
    title: sentenceCase(nameInWords(name)),
    toolArguments,
    takes: withSecretNames(toolArguments, secrecy.mayBeSecret),
    controlArguments: picking ?? ofChanges,
    /** Name of the argument that picks fields of the answer. Undefined for a change. */
    fieldsArgument: picking?.name,
    answerFields,
    ...secrecy,
    pages,
  };
}

export const wordsOf = (operation: string): readonly string[] => nameInWords(operation).toLowerCase().split(/\W+/);

const reservedNames: readonly string[] = ['account', 'outputFields', ...Object.keys(consentArguments())];

export const argumentsOf = (operation: ModelOperation): readonly Member[] =>
  operation.input.members
    .filter((member) => !isSetByServer(operation, member))
    .map((member) => {
      const name = reservedNames.includes(member.name) ? `${member.name}_` : member.name;
      const nameInRequest =
        textTrait(member.ownTraits, 'smithy.api#httpHeader') ??
        textTrait(member.ownTraits, 'smithy.api#httpQuery') ??
        member.requestName;
      return { ...member, name, requestName: reservedNames.includes(nameInRequest) ? name : nameInRequest };
    });

/** @throws ModelError for an unknown name, because a misspelled secret would be shown */
function refuseUnknownSecrets(
  { secretNames, notSecret, show }: OperationSettings,
  toolArguments: readonly Member[],
  answerFields: readonly Member[],
): void {
  // Most operations have none of them, and searching all structures takes time.
  if (secretNames.length + notSecret.length + show.length === 0) return;
  const ofAnswer = fieldsAtAnyDepth(answerFields);
  const ofBoth = [...fieldsAtAnyDepth(toolArguments), ...ofAnswer];
  const refuseUnknown = (setting: string, names: readonly string[], fields: readonly Member[], structure: string) => {
    const unknown = names.filter((name) => !fields.some((field) => isNamed([name], field)));
    const problems = unknown.map((name) => unknownMember(name, fields, { setting, structure }));
    if (problems.length > 0) throw new ModelError(problems.join('; '));
  };
  refuseUnknown('secretNames', secretNames, ofBoth, 'the arguments or the answer');
  refuseUnknown('notSecret', notSecret, ofBoth, 'the arguments or the answer');
  refuseUnknown('show', show, ofAnswer, 'the answer');
}

/**
 * Makes the argument, named `outputFields` if the API has an argument `fields`.
 * @param always paths that every pick has: the tokens of pages
 */
function fieldsArgument(
  toolArguments: readonly Member[],
  answerFields: readonly Member[],
  always: readonly string[],
): ControlArguments & { readonly name: string } {
  const name = toolArguments.some((argument) => isNamed(['fields'], argument)) ? 'outputFields' : 'fields';
  const readPath = (given: string) => {
    try {
      const path = translatePath(given, answerFields, { structure: 'the answer' });
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
