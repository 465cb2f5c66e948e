import { resolve } from 'node:path';
import { isObject, textAt } from '../src/util/objects.js';
import { type RecordedCloud, type RelayedAnswer, type ReportedRequest, startRelay } from './cloud.js';

/** A stand-in for services that the sandbox does not have: volumes and instances, access keys, queues. Their models are in `eval/jobs/`. */

type Input = Readonly<Record<string, unknown>>;
type Handler = (input: Input) => object;

/** An error of the stand-in, as JSON protocols have it. */
class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The last part of `Compute.DeleteVolume`. */
export const operationOf = ({ headers }: Pick<ReportedRequest, 'headers'>): string =>
  headers['x-amz-target']?.split('.').at(-1) ?? '';

export const isReadOfJobs = (request: Pick<ReportedRequest, 'headers'>) =>
  /^(?:Describe|List|Get)/.test(operationOf(request));

/** Starts the stand-in with new records. It checks no signature. */
export async function startJobsCloud(
  operations: string,
  tell: (request: ReportedRequest) => void,
): Promise<RecordedCloud> {
  const handlers: Readonly<Record<string, Handler>> = { ...compute(), ...identity(), ...queues() };
  let count = 0;
  const answer = async ({ rawHeaders, content }: { rawHeaders: readonly string[]; content: Buffer }) => {
    count += 1;
    const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'x-amz-target');
    return reply(handlers[operationOf({ headers: { 'x-amz-target': rawHeaders[at + 1] ?? '' } })], content, count);
  };
  const { origin, close } = await startRelay(answer, tell);
  return {
    settings: {
      ACCESS_KEY_ID: 'key-of-server',
      SECRET_ACCESS_KEY: 'the-secret-of-the-server',
      REGION: 'us-east-1',
      OPERATIONS: resolve(operations),
      ENDPOINT_EC2_URL: origin,
      ENDPOINT_IAM_URL: origin,
      ENDPOINT_SQS_URL: origin,
    },
    close,
  };
}

function reply(handler: Handler | undefined, content: Buffer, count: number): RelayedAnswer {
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': `jobs-${count}` };
  const answered = (status: number, body: object) => ({ status, headers, content: Buffer.from(JSON.stringify(body)) });
  try {
    const input: unknown = JSON.parse(content.toString('utf8') || '{}');
    if (handler === undefined) throw new Refusal('UnknownOperationException', 'There is no such operation.');
    return answered(200, handler(isObject(input) ? input : {}));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return answered(400, { __type: error.code, message: error.message });
  }
}

/** Three volumes that no instance has, of which one is not ready, and a snapshot that is complete at its second reading. */
function compute(): Readonly<Record<string, Handler>> {
  const volumes = new Map([
    ['vol-app', { Size: 100, State: 'in-use', Attachments: [{ InstanceId: 'i-web' }] }],
    ['vol-old', { Size: 200, State: 'available', Attachments: [] }],
    ['vol-tmp', { Size: 50, State: 'available', Attachments: [] }],
    ['vol-new', { Size: 10, State: 'creating', Attachments: [] }],
  ]);
  const snapshots = new Map([['snap-1', { VolumeId: 'vol-tmp', reads: 2 }]]);
  const instances = new Map([['i-web', 'running']]);
  const change = (state: string): Handler => {
    return ({ InstanceIds }) => {
      const changed = listOf(InstanceIds);
      for (const id of changed) instances.set(id, state);
      return { Instances: changed.map((id) => ({ InstanceId: id, State: state })) };
    };
  };
  return {
    DescribeVolumes: () => ({
      Volumes: [...volumes].map(([VolumeId, volume]) => ({ VolumeId, CreateTime: 1_760_000_000, ...volume })),
    }),
    DeleteVolume: (input) => {
      const id = textAt(input, 'VolumeId') ?? '';
      if (volumes.get(id)?.State !== 'available') throw new Refusal('VolumeInUse', `${id} is not available.`);
      volumes.delete(id);
      return {};
    },
    DescribeSnapshots: () => ({
      Snapshots: [...snapshots].map(([SnapshotId, snapshot]) => {
        snapshot.reads += 1;
        const isComplete = snapshot.reads > 1;
        const { VolumeId } = snapshot;
        return {
          ...{ SnapshotId, VolumeId, StartTime: 1_790_000_000 },
          State: isComplete ? 'completed' : 'pending',
          Progress: isComplete ? '100%' : '42%',
        };
      }),
    }),
    CreateSnapshot: (input) => {
      const VolumeId = textAt(input, 'VolumeId') ?? '';
      if (!volumes.has(VolumeId)) throw new Refusal('InvalidVolume.NotFound', `There is no volume ${VolumeId}.`);
      const SnapshotId = `snap-${snapshots.size + 1}`;
      snapshots.set(SnapshotId, { VolumeId, reads: 0 });
      return { SnapshotId, VolumeId, State: 'pending' };
    },
    DescribeInstances: () => ({
      Instances: [...instances].map(([InstanceId, State]) => ({ InstanceId, State })),
    }),
    StopInstances: change('stopping'),
    StartInstances: change('pending'),
    TerminateInstances: change('terminated'),
  };
}

/** A user with one active key. */
function identity(): Readonly<Record<string, Handler>> {
  const keys = new Map([['key-old', 'Active']]);
  const UserName = 'ci';
  return {
    ListUsers: () => ({ Users: [{ UserName }] }),
    ListAccessKeys: () => ({
      AccessKeyMetadata: [...keys].map(([AccessKeyId, Status]) => ({
        ...{ UserName, AccessKeyId, Status },
        CreateDate: 1_760_000_000,
      })),
    }),
    CreateAccessKey: () => {
      if (keys.size > 1) throw new Refusal('LimitExceeded', 'A user has at most two keys.');
      keys.set('key-new', 'Active');
      return { AccessKey: { UserName, AccessKeyId: 'key-new', Status: 'Active', SecretAccessKey: 'new-secret-0123' } };
    },
    UpdateAccessKey: (input) => {
      keys.set(textAt(input, 'AccessKeyId') ?? '', textAt(input, 'Status') ?? '');
      return {};
    },
    DeleteAccessKey: (input) => {
      keys.delete(textAt(input, 'AccessKeyId') ?? '');
      return {};
    },
    GetAccessKeyLastUsed: () => ({ UserName, LastUsedDate: 1_790_000_000 }),
  };
}

/** A queue, and its dead letters. */
function queues(): Readonly<Record<string, Handler>> {
  const messages = new Map([
    ['orders', [] as string[]],
    ['orders-dead', ['41', '42', '43'].map((order) => `{"order": ${order}, "error": "payment timed out"}`)],
  ]);
  const queueOf = (input: Input, name = 'QueueUrl') => textAt(input, name)?.split(/[/:]/).at(-1) ?? '';
  const take = (queue: string) => {
    const taken = messages.get(queue) ?? [];
    messages.set(queue, []);
    return taken;
  };
  return {
    ListQueues: () => ({ QueueUrls: [...messages.keys()].map((name) => `https://queues.example.com/1/${name}`) }),
    GetQueueAttributes: (input) => {
      const queue = queueOf(input);
      const count = messages.get(queue)?.length;
      if (count === undefined) throw new Refusal('QueueDoesNotExist', `There is no queue ${queue}.`);
      return { Attributes: { ApproximateNumberOfMessages: String(count), QueueArn: `arn:cloud:sqs:::${queue}` } };
    },
    ReceiveMessage: (input) => ({
      Messages: (messages.get(queueOf(input)) ?? []).map((Body, index) => ({
        ...{ MessageId: `m-${index}`, ReceiptHandle: `r-${index}`, Body },
      })),
    }),
    SendMessage: (input) => {
      messages.get(queueOf(input))?.push(textAt(input, 'MessageBody') ?? '');
      return { MessageId: 'm-new' };
    },
    DeleteMessage: (input) => {
      messages.get(queueOf(input))?.shift();
      return {};
    },
    StartMessageMoveTask: (input) => {
      messages.get('orders')?.push(...take(queueOf(input, 'SourceArn')));
      return { TaskHandle: 'task-1' };
    },
    ListMessageMoveTasks: () => ({
      Results: [{ TaskHandle: 'task-1', Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 3 }],
    }),
    PurgeQueue: (input) => {
      take(queueOf(input));
      return {};
    },
  };
}

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
