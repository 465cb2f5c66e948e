import { type Account, type Accounts, presetAmong } from '../calls/account.js';
import { isObject } from '../util/objects.js';
import type { JsonSchema } from './json-schema.js';

/** Every tool repeats the accounts: so many characters at most are for two descriptions, fewer for more, as their names need room too. */
const mostCharacters = 90;
const charactersOfName = 10;
/** Less than this says nothing of an account. */
const fewestCharacters = 20;

/**
 * The schema of a tool's arguments with the accounts that it can be called for, where there are several.
 * @param allowing those of the caller's accounts that allow the tool
 */
export function withAccount(
  schema: JsonSchema,
  { byDefault, areNamed }: Pick<Accounts, 'byDefault' | 'areNamed'>,
  allowing: readonly Account[],
): JsonSchema {
  if (!areNamed || allowing.length < 2) return schema;
  const { properties, required } = schema;
  const preset = presetAmong(allowing, byDefault);
  const account = {
    type: 'string',
    enum: allowing.map(({ name }) => name),
    description:
      preset === undefined
        ? `${described(allowing)}. If not said, ask`
        : `${described(allowing)}. Default ${preset.name}`,
  };
  const others = Array.isArray(required) ? required : [];
  return {
    ...schema,
    properties: { account, ...(isObject(properties) && properties) },
    ...(preset === undefined && { required: ['account', ...others] }),
  };
}

const unspecific = 'Account to act in';

/** `prod: live customers; staging: trials`, or what there is room for: the names are in the enumeration anyway. */
function described(accounts: readonly Account[]): string {
  const room = mostCharacters - charactersOfName * (accounts.length - 2);
  const share = Math.floor(room / accounts.length);
  if (share < fewestCharacters) return unspecific;
  const parts = accounts.flatMap(({ name, description }) => {
    if (description === undefined) return [];
    const whole = `${name}: ${description}`;
    return [whole.length <= share ? whole : `${whole.slice(0, share - 1).trimEnd()}…`];
  });
  return parts.length === 0 ? unspecific : parts.join('; ');
}
