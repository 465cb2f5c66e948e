import { expect, test } from 'vitest';
import { readProgramKeys } from '../../src/signing/program-keys.js';
import { words } from '../../src/util/safe-text.js';

/** What a program may print, as botocore 1.43 takes it from `credential_process`. */

const origin = { name: words('CLOUDOPS_CREDENTIAL_PROCESS'), remedy: words('Run the program by hand.') };
const read = async (stdout: string) => readProgramKeys(origin, stdout);
const printed = (fields: object) =>
  JSON.stringify({ Version: 1, AccessKeyId: 'AKID', SecretAccessKey: 'MARKER', ...fields });

test.each<readonly [string, string, string]>([
  ['nothing', '', 'the output has to be a JSON object'],
  ['no JSON', 'Enter your MARKER:', 'the output has to be a JSON object'],
  ['a list', `[${printed({})}]`, 'the output has to be a JSON object'],
  ['keys and more', `${printed({})}\nMARKER`, 'the output has to be a JSON object'],
  ['no version', printed({ Version: undefined }), 'Version has to be 1'],
  ['a version that is a text', printed({ Version: '1' }), 'Version has to be 1'],
  ['no ID', printed({ AccessKeyId: undefined }), 'AccessKeyId has to be printable ASCII without spaces'],
  ['an empty ID', printed({ AccessKeyId: '' }), 'AccessKeyId has to be printable ASCII without spaces'],
  ['an ID that fits in no header', printed({ AccessKeyId: 'A\nMARKER' }), 'AccessKeyId has to be printable ASCII'],
  [
    'no secret',
    printed({ SecretAccessKey: undefined, MARKER: 1 }),
    'SecretAccessKey has to be a text that is not empty',
  ],
  ['an empty secret', printed({ SecretAccessKey: '' }), 'SecretAccessKey has to be a text that is not empty'],
  ['a secret that is a number', printed({ SecretAccessKey: 1 }), 'SecretAccessKey has to be a text that is not empty'],
  ['a token that fits in no header', printed({ SessionToken: 'MARKER é' }), 'SessionToken has to be printable ASCII'],
  ['a time that is none', printed({ Expiration: 'soon, MARKER' }), 'Expiration has to be a time with its zone'],
  ['an empty time', printed({ Expiration: '' }), 'Expiration has to be a time with its zone'],
  [
    'a time without a zone',
    printed({ Expiration: '2036-01-01T00:00:00' }),
    'Expiration has to be a time with its zone',
  ],
  ['a day', printed({ Expiration: '2036-01-01' }), 'Expiration has to be a time with its zone'],
  ['a number of seconds', printed({ Expiration: 2_082_758_400 }), 'Expiration has to be a time with its zone'],
])('%s is refused with the name of the field, and not shown', async (_what, stdout, problem) => {
  const error: unknown = await read(stdout).catch((reason: unknown) => reason);
  expect(String(error)).toContain(`CLOUDOPS_CREDENTIAL_PROCESS printed keys that cannot be used: ${problem}`);
  expect(String(error)).not.toContain('MARKER');
});

test.each<readonly [string, object, object]>([
  ['an ID and a secret', {}, {}],
  ['a session token', { SessionToken: 'a-token-of-it' }, { sessionToken: 'a-token-of-it' }],
  ['an empty session token', { SessionToken: '' }, {}],
  ['no more than null', { SessionToken: null, Expiration: null }, {}],
  ['fields of other tools', { AccountId: '123456789012', Comment: 'by hand' }, {}],
])('%s are taken', async (_what, fields, more) => {
  expect(await read(printed(fields))).toStrictEqual({
    credentials: { accessKeyId: 'AKID', secretAccessKey: 'MARKER', ...more },
    expiresAt: undefined,
  });
});

/** The second column is what dateutil 2.9, the parser of botocore, makes of the first. */
test.each([
  ['2036-05-06T07:08:09Z', '2036-05-06T07:08:09Z'],
  ['2036-05-06t07:08:09z', '2036-05-06T07:08:09Z'],
  ['2036-05-06T07:08:09+0900', '2036-05-05T22:08:09Z'],
  ['2036-05-06T07:08:09+09', '2036-05-05T22:08:09Z'],
  ['2036-05-06T07:08:09.123456789+09:00', '2036-05-05T22:08:09.123Z'],
  ['2036-05-06T07:08:09,5Z', '2036-05-06T07:08:09.500Z'],
  ['2036-05-06 07:08:09Z', '2036-05-06T07:08:09Z'],
  ['2036-05-06 07:08:09 UTC', '2036-05-06T07:08:09Z'],
  ['2036-05-06T07:08:09UTC', '2036-05-06T07:08:09Z'],
  ['2036-05-06T07:08Z', '2036-05-06T07:08:00Z'],
  ['20360506T070809Z', '2036-05-06T07:08:09Z'],
  ['20360506T070809-0330', '2036-05-06T10:38:09Z'],
  ['20360506T0708Z', '2036-05-06T07:08:00Z'],
  ['Tue, 06 May 2036 07:08:09 GMT', '2036-05-06T07:08:09Z'],
  ['Tue, 06 May 2036 07:08:09 +0200', '2036-05-06T05:08:09Z'],
  ['Tue May  6 07:08:09 UTC 2036', '2036-05-06T07:08:09Z'],
  ['Tue May 06 07:08:09 +0100 2036', '2036-05-06T06:08:09Z'],
])('the time %s is %s', async (Expiration, instant) => {
  expect((await read(printed({ Expiration }))).expiresAt).toEqual(new Date(instant));
});
