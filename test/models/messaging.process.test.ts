import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { never, testCaller } from '../support/caller.js';
import { member, smallModelJson } from './small-model.js';

/**
 * Operations of small models of queues and topics against fauxqs, a server of these APIs that others wrote.
 * npx fetches it with the Node.js that it needs, because its packages would change those that are bundled. So only CI runs this.
 */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-messaging-'));
let program: ChildProcess | undefined;
let origin = '';

async function startFauxqs(): Promise<string> {
  program = spawn('npx', ['-y', '-p', 'node@22', '-p', 'fauxqs@2.4.1', 'fauxqs'], {
    env: { ...process.env, FAUXQS_PORT: '0', FAUXQS_HOST: '127.0.0.1' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  if (program.stdout === null) throw new Error('there is no output');
  let printed = '';
  for await (const chunk of program.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
    if (found === undefined) continue;
    program.stdout.resume();
    return found;
  }
  throw new Error('fauxqs ended');
}

const required = (target = 'String') => member(target, { required: {} });
const list = (of: string) => ({ type: 'list', member: { target: of } });
const map = (of: string) => ({ type: 'map', key: { target: 'smithy.api#String' }, value: { target: of } });
const record = (...names: readonly string[]) => ({
  type: 'structure',
  members: Object.fromEntries(names.map((name) => [name, { target: 'smithy.api#String' }])),
});
const attribute = {
  type: 'structure',
  members: {
    DataType: { target: 'smithy.api#String' },
    StringValue: { target: 'smithy.api#String' },
    BinaryValue: { target: 'smithy.api#Blob' },
  },
};

const queues = smallModelJson(
  {
    CreateQueue: { input: { QueueName: required() }, output: { QueueUrl: 'String' } },
    ListQueues: { output: { QueueUrls: 'small#Texts' } },
    SendMessage: {
      input: { QueueUrl: required(), MessageBody: required(), MessageAttributes: 'small#Attributes' },
      output: { MessageId: 'String' },
    },
    SendMessageBatch: {
      input: { QueueUrl: required(), Entries: required('small#Entries') },
      output: { Successful: 'small#Sent', Failed: 'small#Unsent' },
    },
    ReceiveMessage: {
      input: { QueueUrl: required(), MaxNumberOfMessages: 'Integer', MessageAttributeNames: 'small#Texts' },
      output: { Messages: 'small#Messages' },
    },
    DeleteMessage: { input: { QueueUrl: required(), ReceiptHandle: required() } },
    DeleteQueue: { input: { QueueUrl: required() } },
  },
  {
    'small#Attribute': attribute,
    'small#Attributes': map('small#Attribute'),
    'small#Texts': list('smithy.api#String'),
    'small#Entries': list('small#Entry'),
    'small#Entry': record('Id', 'MessageBody'),
    'small#Sent': list('small#SentEntry'),
    'small#SentEntry': record('Id', 'MessageId'),
    'small#Unsent': list('small#UnsentEntry'),
    'small#UnsentEntry': record('Id', 'Code', 'Message'),
    'small#Messages': list('small#Message'),
    'small#Message': {
      type: 'structure',
      members: {
        ...record('MessageId', 'ReceiptHandle', 'Body').members,
        MessageAttributes: { target: 'small#Attributes' },
      },
    },
  },
  'awsJson1_0',
);

const topics = smallModelJson(
  {
    CreateTopic: { input: { Name: required() }, output: { TopicArn: 'String' } },
    ListTopics: { output: { Topics: 'small#Topics' } },
    Subscribe: {
      input: { TopicArn: required(), Protocol: required(), Endpoint: 'String', Attributes: 'small#Settings' },
      output: { SubscriptionArn: 'String' },
    },
    Publish: {
      input: { TopicArn: required(), Message: required(), MessageAttributes: 'small#Attributes' },
      output: { MessageId: 'String' },
    },
    DeleteTopic: { input: { TopicArn: required() } },
  },
  {
    'small#Attribute': attribute,
    'small#Attributes': {
      type: 'map',
      key: { target: 'smithy.api#String', traits: { 'smithy.api#xmlName': 'Name' } },
      value: { target: 'small#Attribute', traits: { 'smithy.api#xmlName': 'Value' } },
    },
    'small#Settings': map('smithy.api#String'),
    'small#Topics': list('small#Topic'),
    'small#Topic': record('TopicArn'),
  },
  'awsQuery',
);

const effectOf = (name: string) =>
  ({ List: 'read', Receive: 'alter', Delete: 'delete' })[/^[A-Z][a-z]+/.exec(name)?.[0] ?? ''] ?? 'create';

/** The operations of a model, by name. */
async function operationsOf(api: string, service: string, model: object): Promise<ReadonlyMap<string, Operation>> {
  const text = JSON.stringify(model).replaceAll('small#Service', `small#${service}`);
  const names = [...text.matchAll(/"target":"small#(\w+)Input"/g)].flatMap(([, name]) => name ?? []);
  const operations = Object.fromEntries(
    names.map((name) => [name, { effect: effectOf(name), ...(effectOf(name) !== 'read' && { costsMoney: false }) }]),
  );
  const path = join(folder, `${api}.operations.json`);
  writeFileSync(join(folder, `${api}.json`), text);
  writeFileSync(path, JSON.stringify({ model: `./${api}.json`, api, operations }));
  const loaded = await loadOperationFiles(path);
  expect(loaded.problems).toEqual([]);
  return new Map(loaded.operations.map((operation, index) => [names[index] ?? '', operation]));
}

describe.skipIf(process.env.CI === undefined)('queues and topics', () => {
  let operations: ReadonlyMap<string, Operation>;
  let caller: ReturnType<typeof testCaller>;
  beforeAll(async () => {
    origin = await startFauxqs();
    operations = new Map([
      ...(await operationsOf('queues', 'AmazonSQS', queues)),
      ...(await operationsOf('topics', 'AmazonSimpleNotificationService', topics)),
    ]);
    caller = testCaller('', { cloud: { endpoints: { queues: origin, topics: origin } } });
  });
  afterAll(async () => {
    await caller?.close();
    if (program?.pid !== undefined) process.kill(-program.pid);
    rmSync(folder, { recursive: true });
  });

  /** The exact answer to an operation. */
  async function call(name: string, args: object): Promise<Record<string, unknown>> {
    const operation = operations.get(name);
    if (operation === undefined) throw new Error(`there is no ${name}`);
    const result = await caller.call(
      operation,
      { ...(operation.effect !== 'read' && { allowRepeat: true }), ...args },
      { signal: never },
    );
    if (!result.ok) throw new Error(result.text);
    return Object(result.structured.answer);
  }

  // fauxqs takes no characters of more than 16 bits.
  const body = '{\n\t"text": "quotes \\" \' ` <tags> & &amp;",\n  "letters": "é 日本"\n}\n';
  const MessageAttributes = {
    colour: { DataType: 'String', StringValue: 'a "b" <c>' },
    bytes: { DataType: 'Binary', BinaryValue: Buffer.from([0, 255, 10, 128]).toString('base64') },
  };

  test('a message that was sent to a queue is received as it was, and deleted', async () => {
    const { QueueUrl } = await call('CreateQueue', { QueueName: 'jobs' });
    expect(await call('ListQueues', {})).toEqual({ QueueUrls: [QueueUrl] });
    const { MessageId } = await call('SendMessage', { QueueUrl, MessageBody: body, MessageAttributes });
    const received = await call('ReceiveMessage', { QueueUrl, MessageAttributeNames: ['All'] });
    const ReceiptHandle = expect.any(String);
    expect(received).toEqual({ Messages: [{ MessageId, ReceiptHandle, Body: body, MessageAttributes }] });
    const [{ ReceiptHandle: handle }] = received.Messages as [{ ReceiptHandle: string }];
    await call('DeleteMessage', { QueueUrl, ReceiptHandle: handle });
    expect((await call('ReceiveMessage', { QueueUrl })).Messages ?? []).toEqual([]);
    await call('DeleteQueue', { QueueUrl });
    expect((await call('ListQueues', {})).QueueUrls ?? []).toEqual([]);
    await expect(call('SendMessage', { QueueUrl, MessageBody: body })).rejects.toThrow('QueueDoesNotExist');
  });

  test('each entry of a batch is sent, with its text', async () => {
    const { QueueUrl } = await call('CreateQueue', { QueueName: 'batches' });
    const Entries = ['a', 'b', 'c'].map((Id) => ({ Id, MessageBody: `${Id}\n${body}` }));
    const { Successful } = await call('SendMessageBatch', { QueueUrl, Entries });
    expect(Successful).toMatchObject(Entries.map(({ Id }) => ({ Id })));
    const { Messages } = await call('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 });
    expect(Messages).toMatchObject(Entries.map(({ MessageBody }) => ({ Body: MessageBody })));
    await call('DeleteQueue', { QueueUrl });
  });

  test('a message that was published to a topic reaches the queue that is subscribed to it', async () => {
    const { QueueUrl } = await call('CreateQueue', { QueueName: 'inbox' });
    const { TopicArn } = await call('CreateTopic', { Name: 'news' });
    expect(await call('ListTopics', {})).toEqual({ Topics: [{ TopicArn }] });
    const Endpoint = String(TopicArn).replace(':sns:', ':sqs:').replace(/news$/, 'inbox');
    const Attributes = { RawMessageDelivery: 'true' };
    const subscribed = await call('Subscribe', { TopicArn, Protocol: 'sqs', Endpoint, Attributes });
    expect(String(subscribed.SubscriptionArn)).toContain(String(TopicArn));
    expect(await call('Publish', { TopicArn, Message: body, MessageAttributes })).toMatchObject({
      MessageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const { Messages } = await call('ReceiveMessage', { QueueUrl, MessageAttributeNames: ['All'] });
    expect(Messages).toMatchObject([{ Body: body, MessageAttributes }]);
    await call('DeleteTopic', { TopicArn });
    expect((await call('ListTopics', {})).Topics ?? []).toEqual([]);
  });
});
