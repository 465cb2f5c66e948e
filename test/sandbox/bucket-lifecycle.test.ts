import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { sendSigned } from './send-signed.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
});
afterAll(() => sandbox.close());

const rule = (
  fields = '<ID>a</ID><Filter><Prefix>b/</Prefix></Filter><Status>Enabled</Status><Expiration><Days>3</Days></Expiration>',
) => `<Rule>${fields}</Rule>`;
const document = (rules: string) => `<LifecycleConfiguration>${rules}</LifecycleConfiguration>`;
const md5 = (body: string) => createHash('md5').update(body).digest('base64');

const path = (bucket = 'demo-bucket') => `/${bucket}?lifecycle`;
const put = (body: string, headers: Record<string, string> = { 'Content-MD5': md5(body) }, bucket?: string) =>
  sendSigned(sandbox, { method: 'PUT', path: path(bucket), headers, body });
const get = () => sendSigned(sandbox, { path: path() });

test('a rule that aborts unfinished uploads is taken, and read back', async () => {
  const abort =
    '<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>';
  const fields = `<ID>a</ID><Filter><Prefix></Prefix></Filter><Status>Enabled</Status>${abort}`;
  expect(await put(document(rule(fields)))).toMatchObject({ status: 200 });
  expect((await get()).body).toContain(`<Status>Enabled</Status>${abort}</Rule>`);
});

test.each([
  ['no rule', document(''), 'MalformedXML'],
  [
    'another status',
    document(rule('<ID>a</ID><Status>On</Status><Expiration><Days>3</Days></Expiration>')),
    'MalformedXML',
  ],
  [
    'no day',
    document(rule('<ID>a</ID><Status>Enabled</Status><Expiration><Days>0</Days></Expiration>')),
    'InvalidArgument',
  ],
  ['the same name twice', document(rule() + rule()), 'InvalidArgument'],
  ['a name that is too long', document(rule().replace('<ID>a', `<ID>${'a'.repeat(256)}`)), 'InvalidArgument'],
  ['no action', document(rule('<ID>a</ID><Status>Enabled</Status>')), 'InvalidArgument'],
  ['two statuses', document(rule().replace('<Status>', '<Status>Enabled</Status><Status>')), 'MalformedXML'],
  ['an element that does not end', document(rule().replace('</Rule>', '')), 'MalformedXML'],
  ['another root', document(rule()).replaceAll('LifecycleConfiguration', 'Lifecycle'), 'MalformedXML'],
  ['a transition', document(rule('<ID>a</ID><Status>Enabled</Status><Transition></Transition>')), 'NotImplemented'],
])('a document with %s is refused', async (_what, body, code) => {
  expect(await put(body)).toMatchObject({ code });
});

test('the header Content-MD5 is needed, and checked', async () => {
  expect(await put(document(rule()), {})).toMatchObject({ code: 'InvalidRequest' });
  expect(await put(document(rule()), { 'Content-MD5': md5('other') })).toMatchObject({ code: 'BadDigest' });
});
