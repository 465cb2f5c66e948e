import { isIP } from 'node:net';
import * as z from 'zod';
import { isObject, stepsOf, valueAt } from '../../util/objects.js';

/**
 * Building blocks of input schemas. Every rule carries a sentence that completes "`value` must …", and it is the only
 * text a caller sees when the rule is broken.
 */

/** Length limit (characters) of names and identifiers for which the reference gives none. The cloud has no longer names. */
const longestText = 2048;

/** Text of at least one character. Half of a surrogate pair is refused, because it cannot be sent. */
export const text = (longest = longestText) =>
  z
    .string()
    .min(1, 'must not be empty')
    .refine((value) => value.length <= longest, `must have at most ${longest} characters`)
    .refine((value) => value.isWellFormed(), notUnicode);

export const notUnicode = 'must be well-formed Unicode: it has half of a surrogate pair';

/** Key of an object: similar stores take 1,024 bytes of UTF-8 (not in the reference). */
export const objectKey = () =>
  text().refine((value) => new TextEncoder().encode(value).length <= 1024, 'must have at most 1,024 bytes of UTF-8');

/** True or false. */
export const flag = () => z.boolean('must be true or false');

/** One of a fixed list of words. */
export const oneOf = (values: readonly string[]) => z.enum(values);

/** One of a list of words. Hosts see the description `where` in place of the list, because another field of the schema shows the list. */
export const oneOfListed = (values: readonly string[], where: string) => z.enum(values).meta({ listed: where });

const digits = /^-?\d{1,16}$/;
const fromDigits = (value: unknown) => (typeof value === 'string' && digits.test(value) ? Number(value) : value);

/** A whole number of at least `minimum` and at most `maximum`, which agents also send as text: `3` or `"3"`. */
export function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const rule = `must be a whole number${boundsText(minimum, maximum)}`;
  return z.preprocess(fromDigits, z.int('must be a whole number').min(minimum, rule).max(maximum, rule));
}

function boundsText(minimum: number, maximum: number): string {
  if (maximum < Number.MAX_SAFE_INTEGER)
    return minimum > Number.MIN_SAFE_INTEGER ? ` from ${minimum} to ${maximum}` : ` of at most ${maximum}`;
  return minimum > Number.MIN_SAFE_INTEGER ? ` of at least ${minimum}` : '';
}

/** One of a fixed list of whole numbers, also accepted as text. */
export const oneOfNumbers = <const Values extends readonly [number, ...number[]]>(values: Values) =>
  z.preprocess(fromDigits, z.literal([...values]));

/** Lowercase letters, digits and hyphens, with no hyphen at either end (docs/API.md: ProvisionKubeResourceGroup, RestoreInstance). */
export function hyphenated({ min = 1, max }: { min?: number; max: number }) {
  const rule = `must be ${min} to ${max} lowercase letters, digits or hyphens, with no hyphen at the start or end`;
  return limited(min, max, rule).regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, rule);
}

/** Name of a cluster (docs/API.md: ProvisionKubeResourceGroup). */
export function clusterName() {
  const rule =
    'must be 1 to 40 lowercase letters, digits or hyphens, starting with a letter and ending with a letter or digit';
  return limited(1, 40, rule).regex(/^[a-z]([a-z0-9-]*[a-z0-9])?$/, rule);
}

/** Between `min` and `max` characters of one class, such as `[a-z0-9]`. `className` names the class in words. */
export function characters(min: number, max: number, characterClass: string, className: string) {
  const length = min === max ? `exactly ${max}` : `${min} to ${max}`;
  const rule = `must be ${length} ${className}`;
  return limited(min, max, rule).regex(new RegExp(`^${characterClass}*$`), rule);
}

const limited = (min: number, max: number, rule: string) => z.string().min(min, rule).max(max, rule);

/** Text of at most `max` characters, counted as Unicode code points: an emoji is one, not two. */
export const memo = (max: number) =>
  z
    .string()
    .refine((value) => value.isWellFormed(), notUnicode)
    .refine((value) => [...value].length <= max, `must have at most ${max} characters`)
    .meta({ maxLength: max });

/** An IP address. */
export const ipAddress = () => z.string().refine((value) => isIP(value) !== 0, 'must be an IP address');

/** An IPv4 address with its prefix length. */
export const ipv4Cidr = () => z.cidrv4('must be an IPv4 address in CIDR notation, such as 192.168.0.10/24');

/**
 * A name that is one segment of a URL path. The reference gives no rule for these names. Those that are refused could become more than a
 * segment: some servers split a path after decoding it, and `.` and `..` have no encoded form.
 */
export const pathName = () =>
  text(255)
    .refine((value) => value !== '.' && value !== '..', 'must be a name: "." and ".." would address another resource')
    .refine(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters
      (value) => !/[/\\\u0000-\u001f\u007f]/.test(value),
      'must be one name, without "/", "\\" or control characters',
    );

/** A region: one label of a host name, so that it can stand in an endpoint without choosing the host. */
export const region = () =>
  z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a region name, such as jp-east-1')
    .max(32, 'must be a region name, such as jp-east-1');

/** Arguments of every change, which this server uses and does not send. */
export const planArguments = () => ({
  planOnly: flag().describe('Only show the plan.').optional(),
  planId: text(200).describe('From a plan.').optional(),
  withdraw: flag().describe('Take that plan back.').optional(),
  replaces: text(200).describe('planId of an older plan.').optional(),
});

/** Arguments of every change whose repetition needs `allowRepeat`. */
export const consentArguments = () => ({
  ...planArguments(),
  allowRepeat: flag().describe('If the user wants it twice.').optional(),
});

/**
 * Adds conditions on several arguments. `check` reports the path of each argument that breaks a condition: `rules[0].id`. It also runs
 * if arguments break their own rules, so an argument may have any value.
 */
export const withConditions = <Schema extends z.ZodObject>(
  schema: Schema,
  check: (args: z.output<Schema>, report: (path: string, message: string) => void) => void,
): Schema =>
  schema.superRefine(
    (args, context) =>
      check(args, (path, message) =>
        context.addIssue({ code: 'custom', path: stepsOf(path), input: valueAt(args, path), message }),
      ),
    { when: ({ value }) => isObject(value) },
  );
