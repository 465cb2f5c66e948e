import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { freePort } from '../support/free-port.js';
import { type RawServer, startRaw, toolCall } from '../support/raw-client.js';

/**
 * Whole services from AWS's own models, against servers of these APIs that others wrote. npx fetches the servers, because their packages are larger
 * than all of ours, so only CI runs this. The models are those of Debian's package awscli.
 */

const models = '/usr/lib/python3/dist-packages/awscli/botocore/data';
const folder = mkdtempSync(join(tmpdir(), 'cloudops-clouds-'));
const programs: ChildProcess[] = [];
let server: RawServer;
let mail: string;

/** Starts a program of a package on a free port, and waits until it takes connections. Returns its address. */
async function startCloud(name: string, version: string, envOf: (port: string) => Record<string, string> = () => ({})) {
  const port = String(await freePort());
  const program = spawn('npx', ['-y', '--ignore-scripts', '-p', `${name}@${version}`, name, '--port', port], {
    cwd: folder,
    env: { ...process.env, ...envOf(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  programs.push(program);
  const origin = `http://127.0.0.1:${port}`;
  while (program.exitCode === null) {
    const isUp = await fetch(origin).then(
      () => true,
      () => false,
    );
    if (isUp) return origin;
    await delay(100);
  }
  throw new Error(`${name} ended with ${program.exitCode}`);
}

const answered = z.object({
  result: z.object({
    isError: z.boolean().default(false),
    structuredContent: z.looseObject({ answer: z.record(z.string(), z.unknown()).default({}) }),
  }),
});

let lastId = 0;
/** Calls an operation like an agent, and returns the exact answer. */
async function call(tool: 'read_operation' | 'change_operation', name: string, args: object) {
  lastId += 1;
  server.send(toolCall(lastId, tool, { name, arguments: args }));
  const { result } = answered.parse(await server.response(lastId));
  expect(result.isError, JSON.stringify(result.structuredContent)).toBe(false);
  return result.structuredContent.answer;
}
const read = (name: string, args: object) => call('read_operation', name, args);
const change = (name: string, args: object) => call('change_operation', name, args);

/** Every kind of character that a text for display would change. */
const text = 'first line\r\n\tquotes " \' ` <b> & &amp; \\n {{name}}\n日本語 🚀 \u202E\n';

describe.skipIf(process.env.CI === undefined)('clouds that others wrote', () => {
  beforeAll(async () => {
    expect(existsSync(models), 'the package awscli is missing').toBe(true);
    const [streams, mails, users] = await Promise.all([
      startCloud('kinesalite', '3.3.3'),
      startCloud('aws-ses-v2-local', '2.10.2'),
      startCloud('cognito-local', '5.3.0', (port) => ({ PORT: port })),
    ]);
    mail = mails;
    server = startRaw({
      CLOUDOPS_MODELS: models,
      CLOUDOPS_ENDPOINT_KINESIS_URL: streams,
      CLOUDOPS_ENDPOINT_SES_URL: mail,
      CLOUDOPS_ENDPOINT_SESV2_URL: mail,
      CLOUDOPS_ENDPOINT_COGNITO_IDP_URL: users,
      CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
      CLOUDOPS_SECRET_ACCESS_KEY: 'test/secret+key',
      CLOUDOPS_REGION: 'us-east-1',
      CLOUDOPS_CONFIRM: 'off',
      CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    });
  });
  afterAll(async () => {
    server?.child.kill();
    await server?.ended;
    for (const { pid } of programs) if (pid !== undefined) process.kill(-pid);
    rmSync(folder, { recursive: true, force: true });
  });

  test('a record of a stream is read as it was written (awsJson1_1, blobs and times)', async () => {
    const StreamName = 'orders';
    await change('kinesis:CreateStream', { StreamName, ShardCount: 1 });
    await expect
      .poll(() => read('kinesis:DescribeStream', { StreamName }))
      .toMatchObject({ StreamDescription: { StreamStatus: 'ACTIVE' } });
    const Data = Buffer.from([0, 255, 10, 128, ...Buffer.from(text)]).toString('base64');
    const { ShardId, SequenceNumber } = await change('kinesis:PutRecord', { StreamName, Data, PartitionKey: text });
    const { ShardIterator } = await read('kinesis:GetShardIterator', {
      StreamName,
      ShardId,
      ShardIteratorType: 'TRIM_HORIZON',
    });
    const { Records } = await read('kinesis:GetRecords', { ShardIterator });
    expect(Records).toMatchObject([{ SequenceNumber, Data, PartitionKey: text }]);
    await change('kinesis:DeleteStream', { StreamName });
    await expect.poll(() => read('kinesis:ListStreams', {})).toMatchObject({ StreamNames: [] });
  });

  test('a template is read as it was written, and changed (restJson1)', async () => {
    const TemplateName = 'welcome + "more"';
    const TemplateContent = { Subject: 'Hello', Text: text, Html: `<p>${text}</p>` };
    await change('sesv2:CreateEmailTemplate', { TemplateName, TemplateContent });
    expect(await read('sesv2:GetEmailTemplate', { TemplateName })).toEqual({ TemplateName, TemplateContent });
    const other = { Subject: text, Text: '' };
    await change('sesv2:UpdateEmailTemplate', { TemplateName, TemplateContent: other });
    expect(await read('sesv2:GetEmailTemplate', { TemplateName })).toMatchObject({ TemplateContent: other });
    expect(await read('sesv2:ListEmailTemplates', {})).toMatchObject({ TemplatesMetadata: [{ TemplateName }] });
    await change('sesv2:DeleteEmailTemplate', { TemplateName });
    expect(await read('sesv2:ListEmailTemplates', {})).toMatchObject({ TemplatesMetadata: [] });
  });

  test('a mail is sent with its text (awsQuery)', async () => {
    const { MessageId } = await change('ses:SendEmail', {
      Source: 'sender@example.com',
      Destination: { ToAddresses: ['one@example.com', 'two@example.com'] },
      Message: { Subject: { Data: 'Numbers + signs & more' }, Body: { Text: { Data: text } } },
    });
    const { emails } = Object(await (await fetch(`${mail}/store`)).json());
    expect(emails).toMatchObject([{ messageId: MessageId, subject: 'Numbers + signs & more', body: { text } }]);
  });

  test('a user is read as made, with private values (awsJson1_1, sensitive members)', async () => {
    const { UserPool } = await change('cognito-idp:CreateUserPool', { PoolName: 'people' });
    const UserPoolId = String(Object(UserPool).Id);
    const Username = 'person@example.com';
    const UserAttributes = [
      { Name: 'email', Value: Username },
      { Name: 'nickname', Value: text },
    ];
    await change('cognito-idp:AdminCreateUser', { UserPoolId, Username, UserAttributes, MessageAction: 'SUPPRESS' });
    const user = await read('cognito-idp:AdminGetUser', { UserPoolId, Username });
    expect(user).toMatchObject({ UserAttributes: expect.arrayContaining(UserAttributes) });
    await change('cognito-idp:AdminDeleteUser', { UserPoolId, Username });
    expect(await read('cognito-idp:ListUsers', { UserPoolId })).toMatchObject({ Users: [] });
  });
});
