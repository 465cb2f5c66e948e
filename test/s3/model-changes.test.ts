import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, PutBucketPolicyCommand, PutObjectCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { printedChanges } from '../support/journal.js';
import { type RawServer, startRaw, toolCall } from '../support/raw-client.js';
import { runServer } from '../support/server-process.js';
import { type Relay, startRelay } from './relay.js';
import { settingsOf } from './start.js';
import { s3, startUpload, store } from './store.js';

/**
 * Changes of models on Ceph, by restXml (buckets and objects) and awsQuery (IAM, STS, topics): plan, consent, journal, repetition, and a
 * process that is killed between the request and the answer. Versions before 19 have no users in IAM, only policies of users and roles.
 */

const bucket = 'model-changes';
let folder: string;
let relay: Relay;
/** Needs a plan before each change. */
let planning: RawServer;
/** Needs no consent. */
let free: RawServer;

const settings = (journal: string, changes: Record<string, string> = {}) => ({
  ...settingsOf({ ...store, endpoint: relay.origin }),
  CLOUDOPS_OPERATIONS: 'test/fixtures/radosgw',
  CLOUDOPS_ENDPOINT_IDENTITIES_URL: relay.origin,
  CLOUDOPS_ENDPOINT_SESSIONS_URL: relay.origin,
  CLOUDOPS_ENDPOINT_TOPICS_URL: relay.origin,
  CLOUDOPS_JOURNAL: join(folder, `${journal}.jsonl`),
  CLOUDOPS_CONFIRM: 'off',
  ...changes,
});

/** The ID and the thing with which a plan is confirmed. */
const planOf = (planned: unknown) => {
  const { changeId, next } = z.object({ changeId: z.string(), next: z.object({ text: z.string() }) }).parse(planned);
  return { changeId, thing: /thing "([^"]*)"/.exec(next.text)?.[1] ?? '' };
};

const answered = z.object({
  result: z.object({ isError: z.boolean().default(false), structuredContent: z.record(z.string(), z.unknown()) }),
});

let lastId = 0;
async function call(name: string, args: object, to = free) {
  lastId += 1;
  to.send(toolCall(lastId, name, args));
  const { result } = answered.parse(await to.response(lastId));
  return { isError: result.isError, ...result.structuredContent };
}

/** The requests of changes. A plan may read what is there. */
const sentChanges = () => relay.exchanges.filter(({ request }) => !/^(?:GET|HEAD) |Action=(?:Get|List)/.test(request));

const stop = async (server: RawServer) => {
  server.child.kill();
  await server.ended;
};

const readJournal = async (journal: string) =>
  printedChanges((await runServer(['journal', '--json'], { env: settings(journal) })).stdout);

const allowing = (Action: string, more: object = {}) =>
  JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: [Action], ...more }] });
const trust = allowing('sts:AssumeRole', { Principal: { AWS: ['arn:aws:iam:::user/s3test'] } });

/** A change, and the read that shows that it was made. */
interface ModelChange {
  readonly tool: string;
  /** Makes the arguments of a change that was not made yet. */
  readonly prepare: (name: string) => object | Promise<object>;
  readonly outcome?: 'accepted' | 'partly';
  readonly look?: (name: string) => readonly [tool: string, args: object, expected: object];
}

const changes: readonly ModelChange[] = [
  {
    tool: 's3_put_bucket_lifecycle_configuration',
    prepare: (name) => ({
      Bucket: bucket,
      LifecycleConfiguration: {
        Rules: [{ ID: name, Status: 'Enabled', Filter: { Prefix: 'a&b/' }, Expiration: { Days: 3 } }],
      },
    }),
    look: (name) => [
      's3_get_bucket_lifecycle_configuration',
      { Bucket: bucket },
      { Rules: [{ ID: name, Filter: { Prefix: 'a&b/' }, Expiration: { Days: 3 } }] },
    ],
  },
  {
    tool: 's3_complete_multipart_upload',
    prepare: async (name) => {
      const object = { Bucket: bucket, Key: `whole/${name}` };
      const uploadId = await startUpload(bucket, object.Key);
      const { ETag } = await s3.send(
        new UploadPartCommand({ ...object, UploadId: uploadId, PartNumber: 1, Body: 'x' }),
      );
      return { ...object, uploadId, CompleteMultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } };
    },
    look: (name) => [
      's3_list_objects_v2',
      { Bucket: bucket, prefix: `whole/${name}` },
      { Contents: [{ Key: `whole/${name}` }] },
    ],
  },
  {
    tool: 's3_delete_objects',
    outcome: 'partly',
    prepare: async (name) => {
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key: `free/${name}`, Body: 'x' }));
      return { Bucket: bucket, Delete: { Objects: [{ Key: `free/${name}` }, { Key: 'locked' }] } };
    },
    look: (name) => [
      's3_list_objects_v2',
      { Bucket: bucket, prefix: `free/${name}` },
      expect.not.objectContaining({ Contents: expect.anything() }),
    ],
  },
  {
    tool: 'iam_create_role',
    prepare: (name) => ({ RoleName: name, AssumeRolePolicyDocument: trust }),
    look: (name) => ['iam_get_role', { RoleName: name }, { Role: { RoleName: name } }],
  },
  {
    tool: 'iam_put_user_policy',
    prepare: (name) => ({
      UserName: 's3other',
      PolicyName: name,
      PolicyDocument: allowing('s3:ListAllMyBuckets', { Resource: '*' }),
    }),
    look: (name) => ['iam_get_user_policy', { UserName: 's3other', PolicyName: name }, { PolicyName: name }],
  },
  {
    tool: 'sts_assume_role',
    prepare: async (name) => {
      await call('iam_create_role', { RoleName: `of-${name}`, AssumeRolePolicyDocument: trust });
      return { RoleArn: `arn:aws:iam:::role/of-${name}`, RoleSessionName: name };
    },
  },
  {
    tool: 'sns_create_topic',
    prepare: (name) => ({ Name: name }),
    look: (name) => [
      'sns_list_topics',
      {},
      { Topics: expect.arrayContaining([expect.objectContaining({ TopicArn: `arn:aws:sns:default::${name}` })]) },
    ],
  },
];

describe.skipIf(store.name !== 'radosgw')('a change of a model', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-changes-'));
    relay = await startRelay(store.endpoint);
    planning = startRaw(settings('planned', { CLOUDOPS_CONFIRM: 'plan' }));
    free = startRaw(settings('free'));
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'locked', Body: 'x' }));
    const Resource = `arn:aws:s3:::${bucket}/locked`;
    const Statement = { Effect: 'Deny', Principal: '*', Action: 's3:DeleteObject', Resource };
    const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [Statement] });
    await s3.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }));
  });
  afterAll(async () => {
    await Promise.all([stop(planning), stop(free)]);
    await relay.close();
    s3.destroy();
    rmSync(folder, { recursive: true });
  });

  describe.each(changes)('by $tool', ({ tool, prepare, outcome = 'accepted', look }) => {
    const suffix = tool.replaceAll('_', '-');

    async function expectMade(name: string) {
      if (look === undefined) return;
      const [read, args, expected] = look(name);
      expect(await call(read, args)).toMatchObject({ isError: false, answer: expected });
    }

    test('is planned without a change, carried out once when it is confirmed, and then a repetition', async () => {
      const name = `planned-${suffix}`;
      const args = await prepare(name);
      const sent = sentChanges().length;
      const planned = await call(tool, args, planning);
      expect(planned).toMatchObject({ outcome: 'planned' });
      expect(sentChanges()).toHaveLength(sent);
      const { changeId, thing } = planOf(planned);
      expect(await call('confirm_change', { changeId, thing }, planning)).toMatchObject({ isError: false, outcome });
      expect(sentChanges()).toHaveLength(sent + 1);
      await expectMade(name);
      const made = sentChanges().length;
      expect(await call(tool, args, planning)).toMatchObject({ isError: true, code: 'Repeated' });
      expect(sentChanges()).toHaveLength(made);
      const last = (await readJournal('planned')).filter((change) => change.tool === tool);
      expect(last).toMatchObject([{ decision: { way: 'confirmed' }, state: outcome }]);
    });

    test('is unknown if the process is killed before the answer, and is not repeated', async () => {
      const name = `killed-${suffix}`;
      const args = await prepare(name);
      const killed = startRaw(settings(name));
      const sent = relay.exchanges.length;
      relay.onAnswer = async () => {
        killed.child.kill('SIGKILL');
        await killed.ended;
      };
      killed.send(toolCall(1, tool, args));
      await killed.ended;
      relay.onAnswer = () => undefined;
      const restarted = startRaw(settings(name));
      const again = () => call(tool, args, restarted);
      expect(await again()).toMatchObject({ isError: true, code: 'Repeated', mayHaveHappened: false });
      // The server looks for changes of processes that are gone while it answers.
      await expect.poll(again).toMatchObject({ code: 'Repeated', earlier: { outcome: 'unknown' } });
      await stop(restarted);
      expect(relay.exchanges).toHaveLength(sent + 1);
      await expectMade(name);
      expect(await readJournal(name)).toMatchObject([{ tool, state: 'unknown', ending: { code: 'ProcessEnded' } }]);
    });
  });

  test('that fails in part has the failed entries in answer and journal', async () => {
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'in-part', Body: 'x' }));
    const Delete = { Objects: [{ Key: 'in-part' }, { Key: 'locked' }] };
    expect(await call('s3_delete_objects', { Bucket: bucket, Delete })).toMatchObject({
      outcome: 'partly',
      failed: { count: 1, names: ['"locked"'] },
      answer: { Deleted: [{ Key: 'in-part' }], Errors: [{ Key: 'locked', Code: 'AccessDenied' }] },
    });
    const all = (await readJournal('free')).filter(({ tool }) => tool === 's3_delete_objects');
    expect(all.at(-1)).toMatchObject({
      state: 'partly',
      ending: { failed: { count: 1, codes: ['AccessDenied'] } },
    });
  });

  test.each([
    ['iam_create_user', { UserName: 'ada' }, 'MethodNotAllowed'],
    ['iam_put_user_policy', { UserName: 'nobody', PolicyName: 'p', PolicyDocument: '{}' }, 'NoSuchEntity'],
    ['iam_delete_user_policy', { UserName: 's3other', PolicyName: 'none' }, 'NoSuchEntity'],
    ['sts_assume_role', { RoleArn: 'arn:aws:iam:::role/none', RoleSessionName: 'none' }, 'NoSuchEntity'],
  ])('by %s that Ceph refuses is rejected with its code', async (tool, args, code) => {
    expect(await call(tool, args)).toMatchObject({ isError: true, serviceSays: { code }, mayHaveHappened: false });
    expect((await readJournal('free')).at(-1)).toMatchObject({ tool, state: 'rejected', ending: { code } });
  });

  test('gives rights to another user, whose keys are in no answer and no journal', async () => {
    const { other } = store;
    if (other === undefined) throw new Error('the store has one user only');
    const PolicyDocument = allowing('sts:GetSessionToken', { Resource: '*' });
    const user = startRaw(
      settings('other', {
        CLOUDOPS_ACCESS_KEY_ID: other.accessKeyId,
        CLOUDOPS_SECRET_ACCESS_KEY: other.secretAccessKey,
      }),
    );
    expect(await call('sts_get_session_token', {}, user)).toMatchObject({ serviceSays: { code: 'AccessDenied' } });
    await call('iam_put_user_policy', { UserName: 's3other', PolicyName: 'tokens', PolicyDocument });
    const got = await call('sts_get_session_token', { allowRepeat: true }, user);
    await stop(user);
    expect(got).toMatchObject({ isError: false, answer: { Credentials: { AccessKeyId: expect.any(String) } } });
    const answer = relay.exchanges.at(-1)?.answer ?? '';
    const secrets = ['SecretAccessKey', 'SessionToken'].map(
      (name) => new RegExp(`<${name}>(.+)</${name}>`).exec(answer)?.[1],
    );
    const seen =
      JSON.stringify(got) + user.stdout() + user.stderr() + readFileSync(join(folder, 'other.jsonl'), 'utf8');
    for (const secret of secrets) {
      expect(secret).toMatch(/.{20}/);
      expect(seen).not.toContain(secret);
    }
  });
});
