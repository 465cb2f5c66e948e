import { nameInWords } from '../../util/field-names.js';
import { fieldsInside, isNamed } from './argument-paths.js';
import { insideOf, isJsonText, type Nesting } from './argument-schema.js';
import type { Argument, ValueRules } from './arguments.js';

/** Returns the function that finds secrets: members that are marked as sensitive, are named like a secret, or are in `namesOfSecrets`. */
export const isSecretIn =
  (namesOfSecrets: readonly string[]) =>
  (field: Argument): boolean =>
    field.isSensitive ||
    isNamed(namesOfSecrets, field) ||
    (holdsText(field.rules) && (isNamedLikeSecret(field.memberName) || isNamedLikeSecret(field.name)));

/** True for texts, blobs and lists of both. The name of a member of another type does not make it a secret. */
const holdsText = (rules: ValueRules): boolean =>
  rules.kind === 'text' || rules.kind === 'blob' || (rules.kind === 'list' && holdsText(rules.element()));

/** Returns the paths of secret arguments, with `[]` for each element of a list. JSON text with a secret in it is secret as a whole. */
export function secretPaths(
  fields: readonly Argument[],
  depth: number,
  isSecret: (field: Argument) => boolean,
): readonly string[] {
  return fields.flatMap((field) =>
    isSecret(field) ? [field.name] : pathsInValue(field.rules, { depth, around: [] }, field.name, isSecret),
  );
}

/** Returns the paths of the secrets in the value at `path`. */
function pathsInValue(
  rules: ValueRules,
  nesting: Nesting,
  path: string,
  isSecret: (field: Argument) => boolean,
): readonly string[] {
  if (rules.kind === 'list') return pathsInValue(rules.element(), nesting, `${path}[]`, isSecret);
  if (isJsonText(rules, nesting)) return fieldsInside(rules).some(isSecret) ? [path] : [];
  if (rules.kind !== 'structure') return [];
  return rules.fields().flatMap((field) => {
    const fieldPath = `${path}.${field.name}`;
    return isSecret(field) ? [fieldPath] : pathsInValue(field.rules, insideOf(rules, nesting), fieldPath, isSecret);
  });
}

/** True if a member is named like a password, a secret or a token, such as `InitialRootPassword` or `AccessToken`. */
function isNamedLikeSecret(name: string): boolean {
  const words = nameInWords(name)
    .toLowerCase()
    .split(/[\s.]+/);
  const lastWord = words.at(-1) ?? '';
  // The token of a page is no secret, because it is useless without the caller's keys, and the caller needs it to read on.
  if (tokenOfPage.test(words.join(' '))) return false;
  if (describing.has(lastWord)) return false;
  return words.some((word) => secretWord.test(word)) || privateKey.test(words.join(''));
}

const tokenOfPage = /^(?:(?:next|starting) )?(?:next|continuation|pagination|page|starting) token$/;
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
