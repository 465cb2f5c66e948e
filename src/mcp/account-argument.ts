import { type Account, type Accounts, presetAmong } from '../calls/account.js';
import type { JsonSchema } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';

/** Every tool repeats the accounts: descriptions of two weigh so much at most, and those of more less, as their names need room too. */
const mostWeight = 80;
const weightOfName = 12;

/** About four for each token: letters share one, other signs and digits mostly have their own, and other scripts take more. */
const weightOf = (text: string) =>
  Buffer.byteLength(text.replace(/[^a-z\s]/giu, (sign) => (sign < '\u0080' ? '####' : `${sign}#`)));

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
        ? `${described(allowing)}. Ask if the user named none`
        : `${described(allowing)}. The one the user means, else ${preset.name}`,
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
  const room = mostWeight - weightOfName * (accounts.length - 2);
  return text === '' || weightOf(text) > room ? 'Account to act in' : text;
}

/** The description of a tool that one account alone allows, of several: it has no argument that would say so. */
export const describedFor = (
  description: string,
  { all, areNamed }: Pick<Accounts, 'all' | 'areNamed'>,
  [only, ...others]: readonly Account[],
): string =>
  only === undefined || others.length > 0 || !areNamed || all.length < 2
    ? description
    : `For the account ${only.name} only. ${description}`;
