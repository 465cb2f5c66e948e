import { isIP } from 'node:net';
import * as z from 'zod';
import { isObject, stepsOf, valueAt } from '../../util/objects.js';

/** This file has the building blocks of input schemas. Messages continue the name of the argument: `must not be empty`. */

/** Text of 1 to `longest` characters. Half of a surrogate pair cannot be encoded. */
export const text = (longest = 2048) =>
  z
    .string()
    .min(1, 'must not be empty')
    .refine((value) => value.length <= longest, `must have at most ${longest} characters`)
    .refine((value) => value.isWellFormed(), notUnicode);

export const notUnicode = 'must be well-formed Unicode: it has half of a surrogate pair';

/** Key of an object, with the usual limit of S3-compatible stores. */
export const objectKey = () =>
  text().refine((value) => new TextEncoder().encode(value).length <= 1024, 'must have at most 1,024 bytes of UTF-8');

export const flag = () => z.boolean('must be true or false');

export const oneOf = (values: readonly string[]) => z.enum(values);

/** A word of a list that another field shows. Clients get the text `where` instead. */
export const oneOfListed = (values: readonly string[], where: string) => z.enum(values).meta({ listed: where });

const digits = /^-?\d{1,16}$/;
/** Other values stay, so that the rules report them. */
const fromDigits = (value: unknown) => (typeof value === 'string' && digits.test(value) ? Number(value) : value);

/** A whole number. Some agents send it as text, so `"3"` is accepted like `3`. */
export function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const rule = `must be a whole number${boundsText(minimum, maximum)}`;
  return z.preprocess(fromDigits, z.int('must be a whole number').min(minimum, rule).max(maximum, rule));
}

function boundsText(minimum: number, maximum: number): string {
  const hasMinimum = minimum > Number.MIN_SAFE_INTEGER;
  const hasMaximum = maximum < Number.MAX_SAFE_INTEGER;
  if (hasMinimum && hasMaximum) return ` from ${minimum} to ${maximum}`;
  if (hasMaximum) return ` of at most ${maximum}`;
  return hasMinimum ? ` of at least ${minimum}` : '';
}

export const oneOfNumbers = <const Values extends readonly [number, ...number[]]>(values: Values) =>
  z.preprocess(fromDigits, z.literal([...values]));

/** Lowercase letters, digits and inner hyphens. */
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

/** `min` to `max` characters of one class, such as `[a-z0-9]`. */
export function characters(min: number, max: number, characterClass: string, className: string) {
  const length = min === max ? `exactly ${max}` : `${min} to ${max}`;
  const rule = `must be ${length} ${className}`;
  return limited(min, max, rule).regex(new RegExp(`^${characterClass}*$`), rule);
}

const limited = (min: number, max: number, rule: string) => z.string().min(min, rule).max(max, rule);

/** Text of at most `max` Unicode code points, so an emoji is one character. */
export const memo = (max: number) =>
  z
    .string()
    .refine((value) => value.isWellFormed(), notUnicode)
    .refine((value) => [...value].length <= max, `must have at most ${max} characters`)
    .meta({ maxLength: max });

export const ipAddress = () => z.string().refine((value) => isIP(value) !== 0, 'must be an IP address');

export const ipv4Cidr = () => z.cidrv4('must be an IPv4 address in CIDR notation, such as 192.168.0.10/24');

/** One segment of a URL path. Slashes are refused, because some servers decode a path before they split it. */
export const pathName = () =>
  text(255)
    .refine((value) => value !== '.' && value !== '..', 'must be a name: "." and ".." would address another resource')
    .refine(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters
      (value) => !/[/\\\u0000-\u001f\u007f]/.test(value),
      'must be one name, without "/", "\\" or control characters',
    );

/** A region. It must be one label of a host name, because endpoints contain it. */
export const region = () =>
  z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a region name, such as jp-east-1')
    .max(32, 'must be a region name, such as jp-east-1');

export const bucketRegion = () =>
  region().describe('Region of the bucket: jp-east-1 or jp-west-2; the configured one when absent.').optional();

/** Length limit of the name of a secret (characters). */
export const longestSecretName = 255;
export const secretNameDescription = "Better: a secret's name here.";

/** Arguments that every change has, and that are not sent to the cloud. */
export const planArguments = () => ({
  planOnly: flag().describe('Only show the plan.').optional(),
  replaces: text(200).describe('changeId of an older plan.').optional(),
});

/** Arguments of a change that is not idempotent. */
export const consentArguments = () => ({
  ...planArguments(),
  allowRepeat: flag().describe('If the user wants it twice.').optional(),
});

/** An argument that is an object, of which each field may be absent. Plans show the title. */
export const group = <Shape extends z.ZodRawShape>(title: string, description: string, shape: Shape) =>
  z.strictObject(shape).partial().meta({ title, description });

/** Adds conditions on several arguments. `check` must expect any value, because it also runs if arguments are invalid. */
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
