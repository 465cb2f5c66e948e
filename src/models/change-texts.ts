import type { ChangeTexts } from '../tools/define-operation.js';
import { nameInWords } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { isObject, textsAt, valueAt } from '../util/objects.js';
import { defined, definedMessage, distinct, join, own, type SafeText, say, words } from '../util/safe-text.js';
import { identifyingField, nameEndings } from './answer-summary.js';
import { fieldsAtAnyDepth } from './argument-names.js';
import { type ChosenOperation, wordsOf } from './chosen-operation.js';
import type { Member, ModelOperation, Shape } from './model.js';
import type { IsMember } from './secret-members.js';

const namesInHeadline = 2;

/** An argument, or a list in an argument, whose value names the things that a change is about. */
type Identifier = ReturnType<typeof identifierOf>;

export function changeTexts(
  { operation, toolArguments, settings, isSecret }: ChosenOperation,
  apiName: string,
): ChangeTexts {
  const title = sentenceCase(nameInWords(operation.name));
  // The texts of a change must not show secrets.
  const visible = toolArguments.filter((argument) => !isSecret(argument));
  const identifiers = identifiersOf(visible, operation, isSecret);
  // If `clusterId` and `nodeId` identify a node, `nodeId` is the resource's own identifier. A deletion deletes the entries of a list.
  const resourceIdentifier =
    identifiers.find((identifier) => isNamesake(identifier, operation.name)) ??
    (settings.effect === 'delete' ? identifiers.findLast(({ isList }) => isList) : undefined) ??
    identifiers.findLast(({ isInPath }) => isInPath) ??
    identifiers[0];
  const otherIdentifiers = identifiers.filter((identifier) => identifier !== resourceIdentifier);
  const titleHasResource = resourceIdentifier?.kind === '' || isNamesake(resourceIdentifier, operation.name);
  const { costsMoney, irreversible, continues = true, consequences = [], notChecked = [] } = settings;
  const headline = (input: Input, inApi: SafeText, namesText: NamesText): SafeText => {
    const names = titleHasResource && resourceIdentifier !== undefined ? namesIn(resourceIdentifier, input) : [];
    const texts = distinct(identifierTexts(names.length > 0 ? otherIdentifiers : identifiers, input, namesText));
    if (names.length > 0) return join([say`${deed(title, names, [namesText(names)])}${inApi}`, ...texts], ', ');
    return texts.length > 0 ? say`${defined(title)}${inApi}: ${join(texts, ', ')}` : say`${defined(title)}${inApi}`;
  };
  return {
    costsMoney,
    continues,
    ...(irreversible !== undefined && { irreversible }),
    headline: (input) => headline(input, say` in ${own(apiName)}`, wholeNamesText),
    shortHeadline: (input) => headline(input, words(''), shortNamesText),
    accept: (input) => {
      const names = resourceIdentifier === undefined ? [] : namesIn(resourceIdentifier, input);
      const [name] = names;
      if (name === undefined) return defined(title);
      if (titleHasResource) return deed(title, names, names.length === 1 ? [say`${endOfName(name)}`] : []);
      return say`${defined(title)}: ${names.length === 1 ? endOfName(name) : names.length}`;
    },
    consequences: () => [
      ...(costsMoney === false ? [] : [costsMoney ? say`It costs money.` : say`It may cost money.`]),
      ...consequences.map((sentence) => defined(sentence)),
    ],
    warnings: () => [],
    notChecked,
    // People type the last name to confirm a deletion.
    identifies: pathsOf([...otherIdentifiers, ...[resourceIdentifier ?? []].flat()].filter(({ isName }) => isName)),
    typedVerb: wordsOf(operation.name)[0] ?? 'delete',
    named: pathsOf(identifiers.filter(({ isList }) => !isList)),
    // The advice is "look in the console for" and this text.
    verificationHint: (input) =>
      join([say`the effect of ${own(operation.name)}`, ...identifierTexts(identifiers, input, wholeNamesText)], ', '),
  };
}

/** `Terminate instance "i-1"`, `Terminate 3 instances`. The verb is a template, because it comes last in Japanese. */
function deed(title: string, { length }: readonly string[], shown: readonly SafeText[]): SafeText {
  const [verb = '', ...others] = title.split(' ');
  const things = others.join(' ');
  const thing = length === 1 ? singular(things) : `${length} ${things}`.trim();
  return definedMessage([`${verb} `, ''], [join([...(thing === '' ? [] : [defined(thing)]), ...shown], ' ')]);
}

const pathsOf = (identifiers: readonly Identifier[]): readonly string[] => identifiers.map(({ path }) => path);

type Input = Readonly<Record<string, unknown>>;

function namesIn({ path, isList }: Identifier, input: Input): readonly string[] {
  if (isList) return textsAt(input, path);
  const value = valueAt(input, path);
  // The keys of a map are names, such as the tables of `BatchWriteItem`.
  if (isObject(value)) return Object.keys(value);
  return value === undefined ? [] : [String(value)];
}

const identifierTexts = (identifiers: readonly Identifier[], input: Input, namesText: NamesText): readonly SafeText[] =>
  identifiers.flatMap((identifier) => {
    const names = namesIn(identifier, input);
    const kind = identifier.words.replace(/ (?:name|identifier|id|arn|url)(s?)$/i, '$1');
    return names.length === 0 ? [] : [say`${defined(kind)} ${namesText(names)}`];
  });

type NamesText = (names: readonly string[]) => SafeText;

const shortNamesText: NamesText = (names) => {
  const texts = names.slice(0, namesInHeadline).map((name) => say`${endOfName(name)}`);
  const more = names.length - namesInHeadline;
  return more > 0 ? say`${join(texts, ', ')} and ${more} more` : join(texts, ', ');
};

/** With the whole URL or ARN of a single name. */
const wholeNamesText: NamesText = (names) => {
  const [name = '', ...others] = names;
  const shown = shortNamesText(names);
  return others.length > 0 || endOfName(name) === name ? shown : say`${shown} (${name})`;
};

/** Returns the resource in a URL or an ARN, because a headline shows only the beginning of a name. */
const endOfName = (name: string): string => name.replace(/^(?:https?:\/\/[^/]*\/|arn:(?:[^:]*:){4})(?=.)/, '');

function identifiersOf(
  visible: readonly Member[],
  operation: ModelOperation,
  isSecret: IsMember,
): readonly Identifier[] {
  const required = visible.filter(({ isRequired }) => isRequired);
  const texts = ofKinds(required, 'text');
  const inside = namesInside(required, isSecret);
  const asName = (field: Member) => identifierOf(field, field.name);
  const asValue = (field: Member) => ({ ...asName(field), isName: false });
  const choices: readonly (() => readonly Identifier[])[] = [
    () => [...identifyingTexts(visible, texts, operation).map(asName), ...inside.filter(({ isList }) => isList)],
    () => inside,
    () => texts.filter(({ memberName }) => !content.test(nameInWords(memberName))).map(asName),
    () => [...ofKinds(visible, 'text').filter(isNamedLikeId).map(asName), ...namesInside(visible, isSecret)],
    () => required.filter(isListOfTexts).map((field) => identifierOf(field, `${field.name}[]`)),
    () => ofKinds(required, 'map').map(asValue),
    () => texts.map(asValue),
    () => ofKinds(required, 'enum', 'integer', 'boolean').map(asValue),
  ];
  for (const choose of choices) {
    const chosen = choose();
    if (chosen.length > 0) return chosen;
  }
  return [];
}

/** Returns the arguments in the path, or else texts that are named like an identifier or like the operation's own resource. */
function identifyingTexts(
  visible: readonly Member[],
  required: readonly Member[],
  { name: operationName, http: { uri: uriPath } }: ModelOperation,
): readonly Member[] {
  const namesInPath = [...uriPath.matchAll(/\{([^{}+]+)\+?\}/g)].map(([, memberName]) => memberName);
  const inPath = namesInPath.flatMap((nameInPath) =>
    visible.filter(({ location, memberName }) => location === 'path' && memberName === nameInPath),
  );
  const operationWords = singular(nameInWords(operationName).toLowerCase());
  const isOfResource = (argument: Member) => {
    const kind = kindOf(argument);
    return isNamedLikeId(argument) ? operationWords.endsWith(kind) : operationWords.includes(` ${kind}`);
  };
  const isOwnName = (argument: Member) => {
    const kind = kindOf(argument);
    return isNamedLikeId(argument) && (kind === '' || operationWords.endsWith(` ${kind}`));
  };
  const choices = [
    // The path of a creation may have only what holds the new thing.
    inPath.length === 0 ? [] : [...inPath, ...required.filter((each) => !inPath.includes(each) && isOwnName(each))],
    required.filter(isNamedLikeId),
    required.filter(({ memberName }) => urlEnding.test(nameInWords(memberName))),
    ofKinds(visible, 'text').filter(isOfResource),
  ];
  return choices.find(({ length }) => length > 0) ?? [];
}

const urlEnding = /\burl$/i;

const isNamedLikeId = ({ memberName }: Member): boolean =>
  nameEndings.some((ending) => ending.test(singular(nameInWords(memberName))));

const singular = (nameOfList: string): string => nameOfList.replace(/(?<!s|u)s$/, '');

/** Values that hold a text, or a part of one, and name nothing. */
const content =
  /\b(?:body|content|data|definition|description|document|json|message|policy|query|script|statement|string|template|text|token|yaml)s?$/i;

const ofKinds = (fields: readonly Member[], ...kinds: readonly Shape['kind'][]): readonly Member[] =>
  fields.filter(({ shape }) => kinds.includes(shape.kind));

/** Returns the names in structures and lists, the outermost ones. A list with a secret field is left out. */
function namesInside(fields: readonly Member[], isSecret: IsMember, prefix = '', level = 1): readonly Identifier[] {
  return fields.flatMap((field) => {
    const { name, shape } = field;
    const isList = shape.kind === 'list';
    if (isList && fieldsAtAnyDepth([field]).some(isSecret)) return [];
    const inner = isList ? shape.element.shape : shape;
    const path = prefix + (isList ? `${name}[]` : name);
    if (inner.kind !== 'structure') return isListOfNames(field) ? [identifierOf(field, path)] : [];
    const inside = inner.members.filter((each) => !isSecret(each));
    const names = namesAmong(ofKinds(inside, 'text'));
    if (names.length === 0 && level < 2) return namesInside(inside, isSecret, `${path}.`, level + 1);
    return names.map((each) => ({
      ...identifierOf(each, `${path}.${each.name}`),
      // The name of a list says what its entries are.
      ...(isList && names.length === 1 && { words: nameInWords(name), kind: kindOf(field) }),
    }));
  });
}

/** A thing with several names may be given by any of them, unless one is required. */
function namesAmong(texts: readonly Member[]): readonly Member[] {
  const best = identifyingField(texts.filter(({ isRequired }) => isRequired).map(({ name }) => name));
  return texts.filter((each) => (best === undefined ? isNamedLikeId(each) : each.name === best));
}

const isListOfNames = (field: Member): boolean =>
  isListOfTexts(field) && (isNamedLikeId(field) || /resources$/i.test(field.memberName));

const isListOfTexts = ({ shape }: Member): boolean => shape.kind === 'list' && shape.element.shape.kind === 'text';

const kindOf = ({ memberName }: Member): string =>
  [...nameEndings, urlEnding]
    .reduce((text, ending) => text.replace(ending, ''), singular(nameInWords(memberName).toLowerCase()))
    .trim();

const identifierOf = (field: Member, path: string) => ({
  /** Path in the arguments, such as `Delete.Objects[].Key`. */
  path,
  isList: path.includes('[]'),
  words: nameInWords(field.name),
  /** Singular name without its ending: `instance`. */
  kind: kindOf(field),
  isInPath: field.location === 'path',
  /** False for a value that says what the change is about, but names nothing. */
  isName: true,
});

const isNamesake = (identifier: Identifier | undefined, operationName: string): boolean =>
  identifier !== undefined &&
  identifier.kind !== '' &&
  singular(nameInWords(operationName).toLowerCase()).endsWith(` ${identifier.kind}`);
