import * as z from 'zod';
import { lazy, parseJson } from '../util/objects.js';
import { defined, own, say, words } from '../util/safe-text.js';
import type { ProgramOrigin } from './key-origins.js';
import { KeysUnavailable, keyText, type TemporaryKeys } from './keys.js';
import type { RunProgram } from './run-program.js';

/** Runs a program that prints keys as AWS defines it for `credential_process`. */

/** Written after the name of a field. */
const rules = {
  version: 'has to be 1',
  header: 'has to be printable ASCII without spaces',
  secret: 'has to be a text that is not empty',
  expiration: 'has to be a time with its zone, such as 2026-11-22T12:00:00Z',
};

/** Like botocore, ignores other fields, and an empty session token. */
const outputSchema = lazy(() =>
  z.object(
    {
      Version: z.literal(1, rules.version),
      AccessKeyId: z.string(rules.header).regex(keyText, rules.header),
      SecretAccessKey: z.string(rules.secret).min(1, rules.secret),
      SessionToken: z
        .string(rules.header)
        .regex(/^[\x21-\x7e]*$/, rules.header)
        .nullish(),
      Expiration: z.string(rules.expiration).transform(parseTime).pipe(z.date(rules.expiration)).nullish(),
    },
    'has to be a JSON object',
  ),
);

const timeWithZone = /\d:\d\d.*(?:z|utc|gmt|[+-]\d\d(?::?\d\d)?)$/i;

/**
 * Reads the forms that botocore's parser reads: RFC 3339, ISO 8601, RFC 1123, and what `date` prints.
 * A time without a zone cannot be compared with the clock.
 */
function parseTime(text: string): Date | undefined {
  const normalized = text
    .trim()
    // The basic format of ISO 8601, such as `20261122T120000Z`.
    .replace(
      /^(\d{4})-?(\d\d)-?(\d\d)t(\d\d)(\d\d)(\d\d)?/i,
      (_all, year, month, day, hour, minute, second = '00') => `${year}-${month}-${day} ${hour}:${minute}:${second}`,
    )
    .replace(/(\d)t(\d)/i, '$1 $2')
    .replace(/(:\d\d),(\d)/, '$1.$2')
    .replace(/(\d)(utc|gmt)$/i, '$1 $2')
    .replace(/(:.*[+-]\d\d)$/, '$1:00')
    // The `date` of Unix writes the year behind the zone.
    .replace(/ (utc|gmt) (\d{4})$/i, ' $2 $1');
  const date = new Date(timeWithZone.test(normalized) ? normalized : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/**
 * What the program printed is never shown.
 * @throws KeysUnavailable with the field that is missing or wrong
 */
export async function readProgramKeys(
  { name, remedy, command }: ProgramOrigin,
  run: RunProgram,
): Promise<TemporaryKeys> {
  const result = await run(command);
  if (result.kind === 'failed') throw new KeysUnavailable(say`${name} ${result.problem}`, remedy);
  const { data, error } = outputSchema().safeParse(parseJson(result.stdout));
  if (data === undefined) {
    const {
      path: [field],
      message,
    } = error.issues[0] ?? { path: [], message: '' };
    const subject = field === undefined ? words('the output') : own(String(field));
    throw new KeysUnavailable(say`${name} printed keys that cannot be used: ${subject} ${defined(message)}`, remedy);
  }

  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken, Expiration } = data;
  const credentials = { accessKeyId, secretAccessKey, ...(SessionToken && { sessionToken: SessionToken }) };
  return { credentials, expiresAt: Expiration ?? undefined };
}
