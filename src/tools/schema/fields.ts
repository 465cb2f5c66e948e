import { isIP } from 'node:net';
import * as z from 'zod';
import { isObject, stepsOf, valueAt } from '../../util/objects.js';

/** This file has the building blocks of input schemas. The message of each rule continues the name of the argument: `must not be empty`. */

/** Length limit of names and identifiers in characters, if the API reference has none. No name in the cloud is this long. */
const longestText = 2048;

/** Text of 1 to `longest` characters. Text with half of a surrogate pair is refused, because it cannot be encoded and sent. */
export const text = (longest = longestText) =>
  z
    .string()
    .min(1, 'must not be empty')
    .refine((value) => value.length <= longest, `must have at most ${longest} characters`)
    .refine((value) => value.isWellFormed(), notUnicode);

export const notUnicode = 'must be well-formed Unicode: it has half of a surrogate pair';

/** Key of an object. The API reference has no length limit, so the usual limit of S3-compatible stores applies: 1,024 bytes of UTF-8. */
export const objectKey = () =>
  text().refine((value) => new TextEncoder().encode(value).length <= 1024, 'must have at most 1,024 bytes of UTF-8');

/** A field that is true or false. */
export const flag = () => z.boolean('must be true or false');

/** One of a fixed list of words. */
export const oneOf = (values: readonly string[]) => z.enum(values);

/** A word of a list that another field already shows. The JSON Schema for clients has the description `where` in place of the list. */
export const oneOfListed = (values: readonly string[], where: string) => z.enum(values).meta({ listed: where });

const digits = /^-?\d{1,16}$/;
/** Text of digits as a number. Any other value stays, so that the rules report it. */
const fromDigits = (value: unknown) => (typeof value === 'string' && digits.test(value) ? Number(value) : value);

/** A whole number from `minimum` to `maximum`. Some agents send it as text, so `"3"` is accepted like `3`. */
export function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const rule = `must be a whole number${boundsText(minimum, maximum)}`;
  return z.preprocess(fromDigits, z.int('must be a whole number').min(minimum, rule).max(maximum, rule));
}

/** ` from 1 to 5`, ` of at least 1`, ` of at most 5`, or an empty text. */
function boundsText(minimum: number, maximum: number): string {
  const hasMinimum = minimum > Number.MIN_SAFE_INTEGER;
  const hasMaximum = maximum < Number.MAX_SAFE_INTEGER;
  if (hasMinimum && hasMaximum) return ` from ${minimum} to ${maximum}`;
  if (hasMaximum) return ` of at most ${maximum}`;
  return hasMinimum ? ` of at least ${minimum}` : '';
}

/** One of a fixed list of whole numbers. It is also accepted as text, like `wholeNumber`. */
export const oneOfNumbers = <const Values extends readonly [number, ...number[]]>(values: Values) =>
  z.preprocess(fromDigits, z.literal([...values]));

/** A name of `min` to `max` lowercase letters, digits and hyphens, which neither begins nor ends with a hyphen. */
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

/** `min` to `max` characters of one class, such as `[a-z0-9]`. `className` names the class for people: `lowercase letters or digits`. */
export function characters(min: number, max: number, characterClass: string, className: string) {
  const length = min === max ? `exactly ${max}` : `${min} to ${max}`;
  const rule = `must be ${length} ${className}`;
  return limited(min, max, rule).regex(new RegExp(`^${characterClass}*$`), rule);
}

const limited = (min: number, max: number, rule: string) => z.string().min(min, rule).max(max, rule);

/** Text of at most `max` characters. They are counted as Unicode code points, so an emoji is one character, not two. */
export const memo = (max: number) =>
  z
    .string()
    .refine((value) => value.isWellFormed(), notUnicode)
    .refine((value) => [...value].length <= max, `must have at most ${max} characters`)
    .meta({ maxLength: max });

/** An IPv4 or IPv6 address. */
export const ipAddress = () => z.string().refine((value) => isIP(value) !== 0, 'must be an IP address');

/** An IPv4 address with a prefix length: `192.168.0.10/24`. */
export const ipv4Cidr = () => z.cidrv4('must be an IPv4 address in CIDR notation, such as 192.168.0.10/24');

/**
 * A name that becomes one segment of a URL path. A slash is refused although it would be percent-encoded, because some servers decode a path
 * before they split it. `.` and `..` are refused because encoding does not change them, so they would address another resource.
 */
export const pathName = () =>
  text(255)
    .refine((value) => value !== '.' && value !== '..', 'must be a name: "." and ".." would address another resource')
    .refine(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters
      (value) => !/[/\\\u0000-\u001f\u007f]/.test(value),
      'must be one name, without "/", "\\" or control characters',
    );

/** A region. It must be a single label of a host name, because endpoints such as `https://{region}.example.com` contain it. */
export const region = () =>
  z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a region name, such as jp-east-1')
    .max(32, 'must be a region name, such as jp-east-1');

/** Arguments that every change has. This server uses them itself and does not send them to the cloud. */
export const planArguments = () => ({
  planOnly: flag().describe('Only show the plan.').optional(),
  replaces: text(200).describe('changeId of an older plan.').optional(),
});

/** Arguments that a change has if its repetition needs `allowRepeat`, because it is not idempotent. */
export const consentArguments = () => ({
  ...planArguments(),
  allowRepeat: flag().describe('If the user wants it twice.').optional(),
});

/**
 * Adds conditions that involve several arguments. `check` reports the path of each argument that breaks a condition, such as `rules[0].id`.
 * It also runs if single arguments break their own rules, so that all problems are reported together. So it must expect any value.
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
