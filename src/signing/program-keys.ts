import * as z from 'zod';
import { lazy, parseJson } from '../util/objects.js';
import { readTime } from '../util/read-values.js';
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

/** A time without a zone cannot be compared with the clock. */
function parseTime(text: string): Date | undefined {
  const time = readTime(text, { needsZone: true });
  return time === undefined ? undefined : new Date(time);
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
  const { data, error } = outputSchema().safeParse(parseJson(result.stdout.replace(/^\uFEFF/, '')));
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
