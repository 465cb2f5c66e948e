import { longestSecretName, secretNameDescription } from '../tools/schema/fields.js';
import { nameInWords } from '../util/field-names.js';
import { attempt, lazy } from '../util/objects.js';
import { fieldsAtAnyDepth, fieldsInside, isNamed, resolvePath } from './argument-names.js';
import { isTooDeep } from './argument-schema.js';
import type { Member, Shape } from './model.js';
import type { PageToken } from './model-pages.js';
import type { OperationSettings } from './model-settings.js';

/**
 * This file decides about secrecy. A secret is a credential, which nobody sees.
 * A private value is one that the model marks as sensitive: the agent and the person who decides see it, but logs and
 * announcements do not, and the store seals it.
 */

export type IsMember = (field: Member) => boolean;

/**
 * The token of a page may be named like a secret, but is a secret only if the file says so.
 * @param givesOut see `secretsGivenOut`
 */
export function secrecyOf(
  settings: Pick<OperationSettings, 'secretNames' | 'notSecret' | 'show'>,
  toolArguments: readonly Member[],
  answerFields: readonly Member[],
  tokens: readonly PageToken[],
  givesOut: IsMember,
) {
  const { isSecret, ...others } = secrecyIn(settings);
  const isTokenArgument = ({ memberName }: Member) => tokens.some(({ member }) => member === memberName);
  // A field with the same name at another path is no token of a page.
  const getTokenFields = lazy(() =>
    tokens.flatMap(
      ({ path }) => attempt(() => resolvePath(path, answerFields, { structure: 'the answer' }).member, undefined) ?? [],
    ),
  );
  const isShown = (field: Member) => isNamed(settings.show, field);
  const isDeclaredSecret = (field: Member) => isNamed(settings.secretNames, field) && !isShown(field);
  const mayHoldSecret = (argument: Member) => !isTokenArgument(argument) || isDeclaredSecret(argument);
  return {
    ...others,
    isSecret,
    secretArguments: secretPaths(toolArguments.filter(mayHoldSecret), isSecret),
    /** Tokens are never masked, because the next request sends them. `areTokensShown` keeps secret tokens out of the result. */
    isMasked: (field: Member) =>
      (isSecret(field) || (givesOut(field) && !isNamed(settings.notSecret, field))) &&
      !isShown(field) &&
      !getTokenFields().includes(field),
    /** False if a token of the next page is secret. */
    areTokensShown: () => ![...toolArguments.filter(isTokenArgument), ...getTokenFields()].some(isDeclaredSecret),
  };
}

export function secrecyIn({ secretNames, notSecret }: Pick<OperationSettings, 'secretNames' | 'notSecret'>) {
  const isSecret = (field: Member) =>
    isNamed(secretNames, field) || (isLikeSecret(field) && !isNamed(notSecret, field));
  const isAnyValue = ({ isSensitive, memberName }: Member) => isSensitive && memberName.toLowerCase() === 'value';
  return {
    isSecret,
    isPrivate: (field: Member) => field.isSensitive && !isSecret(field),
    /** Also true for a sensitive value of any kind, such as a parameter that holds a password. */
    mayBeSecret: (field: Member) => isSecret(field) || (isAnyValue(field) && !isNamed(notSecret, field)),
  };
}

const isLikeSecret = ({ memberName, requestName, isOfApiKey, isSensitive, location, shape }: Member): boolean =>
  holdsText(shape) &&
  (isOfApiKey ||
    isNamedLikeSecret(memberName) ||
    isNamedLikeSecret(requestName) ||
    (isSensitive && credential.test(nameInWords(memberName))) ||
    // In a path, it is the ID of the key.
    (location !== 'path' && /\bapi key(?: value)?s?$/i.test(nameInWords(memberName))));

const holdsText = (shape: Shape): boolean =>
  shape.kind === 'text' ||
  shape.kind === 'blob' ||
  ((shape.kind === 'list' || shape.kind === 'map') && holdsText(shape.element.shape));

/** Returns the paths of secret arguments, such as `users[].password`. A map or a deep structure with a secret is secret as a whole. */
export const secretPaths = (fields: readonly Member[], isSecret: IsMember): readonly string[] =>
  fields.flatMap((field) => (isSecret(field) ? [field.name] : pathsInValue(field.shape, [], field.name, isSecret)));

function pathsInValue(shape: Shape, around: readonly string[], path: string, isSecret: IsMember): readonly string[] {
  if (shape.kind === 'list') return pathsInValue(shape.element.shape, around, `${path}[]`, isSecret);
  if (shape.kind !== 'structure' || isTooDeep(shape, around)) return fieldsInside(shape).some(isSecret) ? [path] : [];
  return shape.members.flatMap((field) => {
    const fieldPath = `${path}.${field.name}`;
    return isSecret(field) ? [fieldPath] : pathsInValue(field.shape, [...around, shape.id], fieldPath, isSecret);
  });
}

/** A secret argument that a call may also give by the name of a secret on this server. */
export interface NamedSecret {
  /** Path of the secret, such as `Login.Password`. */
  readonly path: string;
  /** Path of the argument with the name, such as `Login.PasswordSecretName`. */
  readonly namePath: string;
  readonly isRequired: boolean;
  readonly isBlob: boolean;
}

export interface ArgumentsWithNames {
  readonly fields: readonly Member[];
  readonly secrets: readonly NamedSecret[];
}

/** Adds an argument for the name of each secret, except for secrets in lists, maps and deep structures. */
export function withSecretNames(
  fields: readonly Member[],
  mayBeSecret: IsMember,
  around: readonly string[] = [],
  prefix = '',
): ArgumentsWithNames {
  const secrets: NamedSecret[] = [];
  const withNames = fields.flatMap((field): readonly Member[] => {
    const { name, isRequired, shape } = field;
    const path = prefix + name;
    if (mayBeSecret(field)) {
      const named = nameArgument(field);
      const isTaken = fields.some((other) => isNamed([named.name], other));
      if (isTaken || (shape.kind !== 'text' && shape.kind !== 'blob')) return [field];
      secrets.push({ path, namePath: prefix + named.name, isRequired, isBlob: shape.kind === 'blob' });
      return [{ ...field, isRequired: false }, named];
    }
    if (shape.kind !== 'structure' || isTooDeep(shape, around)) return [field];
    const inner = withSecretNames(shape.members, mayBeSecret, [...around, shape.id], `${path}.`);
    secrets.push(...inner.secrets);
    return inner.secrets.length === 0 ? [field] : [{ ...field, shape: { ...shape, members: inner.fields } }];
  });
  return { fields: withNames, secrets };
}

function nameArgument({ name }: Member): Member {
  const nameOfName = `${name}SecretName`;
  return {
    name: nameOfName,
    memberName: nameOfName,
    requestName: nameOfName,
    isRequired: false,
    isSensitive: false,
    isOfApiKey: false,
    documentation: secretNameDescription,
    ownTraits: {},
    traits: { 'smithy.api#length': { min: 1, max: longestSecretName } },
    shape: { id: 'smithy.api#String', traits: {}, kind: 'text', type: 'string' },
  };
}

export const mayHoldPrivate = (
  fields: readonly Member[],
  values: Readonly<Record<string, unknown>>,
  isPrivate: IsMember,
): boolean => fieldsAtAnyDepth(fields.filter(({ name }) => values[name] !== undefined)).some(isPrivate);

function isNamedLikeSecret(name: string): boolean {
  const words = nameInWords(name)
    .toLowerCase()
    .split(/[\s.]+/);
  const text = words.join(' ');
  // The token of a page is useless without the caller's keys, and the caller needs it to read on.
  const isTokenOfPage = /^(?:(?:next|starting) )?(?:next|continuation|pagination|page|starting) token$/.test(text);
  const isIdempotencyToken = /^(?:client(?: request)?|idempotency|request|creation) token(?: id)?$/.test(text);
  if (isTokenOfPage || isIdempotencyToken || describing.has(words.at(-1) ?? '')) return false;
  return (
    words.some((word) => /^(?:password|passwd|passphrase|plaintext|secret|token)s?$/.test(word)) ||
    /(?:private|secret)(?:access)?key(?:material|data|pem|plaintext|base64)?s?$/.test(words.join('')) ||
    /(?<!\bpublic )\bkey materials?$/.test(text)
  );
}

/** The name of a sensitive text that gives access, such as `SSECustomerKey` or `ConfirmationCode`. */
const credential = /\b(?:key|seed|credential|code|code png)s?$|^(?:auth parameters|challenge responses)$/i;

/** Last words of names that describe a secret but do not hold it: `PasswordLength`, `SecretArn`. */
const describing = new Set(
  (
    'arn arns at count date days description duration enabled expiration expires expiry format id ids kind last length ' +
    'lifetime limit mode name names number period policy prefix required reset rotation source state status time ' +
    'timestamp ttl type types uri url used validity version versions'
  ).split(' '),
);
