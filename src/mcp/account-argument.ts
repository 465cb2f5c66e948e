import { type Account, type Accounts, presetAmong } from '../calls/account.js';
import type { JsonSchema } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';

/** Every tool repeats the accounts: so many characters at most describe two, fewer describe more, as their names need room too. */
const mostCharacters = 80;
const charactersOfName = 12;

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

/** `prod: live customers; staging: trials` where that is short: the instructions have it in any case. */
function described(accounts: readonly Account[]): string {
  const text = accounts
    .flatMap(({ name, description }) => (description === undefined ? [] : [`${name}: ${description}`]))
    .join('; ');
  const room = mostCharacters - charactersOfName * (accounts.length - 2);
  return text === '' || text.length > room ? 'Account to act in' : text;
}
