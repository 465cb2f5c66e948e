import { nameInWords } from '../../tools/schema/field-names.js';
import { isNamed } from './argument-paths.js';
import { type Detail, isJsonText, type Place } from './argument-schema.js';
import type { Argument, ArgumentValue } from './arguments.js';

/** Returns the function that finds secrets: members that are marked as sensitive, are named like a secret, or are in `secretNames`. */
export const isSecretIn =
  (secretNames: readonly string[]) =>
  (field: Argument): boolean =>
    field.isSensitive ||
    isNamed(secretNames, field) ||
    (holdsText(field.value) && (isNamedLikeSecret(field.member) || isNamedLikeSecret(field.name)));

/** True for texts, blobs and lists of both. A value of another type is no secret, even if its name looks like that of a secret. */
const holdsText = (value: ArgumentValue): boolean =>
  value.kind === 'text' || value.kind === 'blob' || (value.kind === 'list' && holdsText(value.element()));

/** Returns the paths of secret arguments, with `[]` for each element of a list. JSON text with a secret in it is secret as a whole. */
export function secretPaths(
  fields: readonly Argument[],
  detail: Detail,
  isSecret: (field: Argument) => boolean,
): readonly string[] {
  return fields.flatMap((field) =>
    isSecret(field) ? [field.name] : pathsInValue(field.value, { detail, around: [] }, field.name, isSecret),
  );
}

/** Returns the paths of the secrets in a value, which itself has the path `path`. */
function pathsInValue(
  value: ArgumentValue,
  place: Place,
  path: string,
  isSecret: (field: Argument) => boolean,
): readonly string[] {
  if (value.kind === 'list') return pathsInValue(value.element(), place, `${path}[]`, isSecret);
  if (isJsonText(value, place)) return holdsSecret(value, isSecret, []) ? [path] : [];
  if (value.kind !== 'structure') return [];
  const innerPlace = { detail: place.detail, around: [...place.around, value.id] };
  return value.fields().flatMap((field) => {
    const fieldPath = `${path}.${field.name}`;
    return isSecret(field) ? [fieldPath] : pathsInValue(field.value, innerPlace, fieldPath, isSecret);
  });
}

/** True if there is a secret in a value. Structures in `around`, which are around the value, are not searched again. */
function holdsSecret(value: ArgumentValue, isSecret: (field: Argument) => boolean, around: readonly string[]): boolean {
  if (value.kind === 'list' || value.kind === 'map') return holdsSecret(value.element(), isSecret, around);
  if (value.kind !== 'structure' || around.includes(value.id)) return false;
  return value.fields().some((field) => isSecret(field) || holdsSecret(field.value, isSecret, [...around, value.id]));
}

/** True if a member is named like a password, a secret or a token, such as `InitialRootPassword` or `AccessToken`. */
function isNamedLikeSecret(name: string): boolean {
  const words = nameInWords(name)
    .toLowerCase()
    .split(/[\s.]+/);
  const lastWord = words.at(-1) ?? '';
  if (describing.has(lastWord)) return false;
  return words.some((word) => secretWord.test(word)) || privateKey.test(words.join(''));
}

const secretWord = /^(?:password|passwd|passphrase|secret|token)s?$/;
const privateKey = /(?:private|secret)(?:access)?key(?:material|data|pem)?s?$/;

/** Last words of names that describe a secret but do not hold it: `PasswordLength`, `SecretArn`. */
const describing = new Set(
  (
    'arn arns at count date days description duration enabled expiration expires expiry format id ids kind last length ' +
    'lifetime limit mode name names number period policy prefix required reset rotation source state status time ' +
    'timestamp ttl type types uri url used validity version versions'
  ).split(' '),
);
