import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KeySource } from '../../src/signing/keys.js';
import { type KeySettings, openKeys } from '../../src/signing/open-keys.js';
import type { Credentials } from '../../src/signing/sign.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { namedAccounts } from '../support/accounts.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturedRequest, type CapturingServer, startServer } from '../support/http-server.js';

/** Keys are replaced while calls run: none fails that need not, no change is made twice, and no key comes back in an answer. */

/** The ID of the only key that the cloud takes, and its answer to other keys. */
let valid = 'OLD1';
let refusal: { status: number; code: string } = { status: 403, code: 'InvalidAccessKeyId' };
let answer: (request: CapturedRequest, response: ServerResponse) => void;
let cloud: CapturingServer;
let folder: string;

const keyOf = ({ headers }: CapturedRequest) => /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1] ?? '';
const instance = '{"instance":{"id":"i-2"}}';

beforeEach(async () => {
  valid = 'OLD1';
  refusal = { status: 403, code: 'InvalidAccessKeyId' };
  answer = (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(instance);
  cloud = await startServer((request, response) => {
    if (keyOf(request) === valid) return answer(request, response);
    const { status, code } = refusal;
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { code } }));
  });
  folder = await mkdtemp(join(tmpdir(), 'cloudops-keys-'));
});
afterEach(async () => {
  await cloud.close();
  await rm(folder, { recursive: true });
});

const secretOf = (id: string) => `secret/of+${id}=which-is-long-enough`;
const open = (settings: KeySettings, env: Record<string, string> = {}): KeySource =>
  openKeys(settings, { env, now: () => new Date(), log: () => undefined }).keys;
const callerWith = (keys: KeySource, store = memoryStore()) =>
  testCaller(cloud.origin, { accounts: namedAccounts(cloud.origin, [{ name: 'prod', keys }]), store });
const change = (instanceId: string) => ({ ...restoreInstance.example, instanceId });

/** Each way to have keys that are replaced: where they come from, and how they are replaced. */
const ways: Record<
  string,
  () => Promise<{ settings: KeySettings; env?: Record<string, string>; replace(id: string): Promise<void> }>
> = {
  files: async () => {
    const [id, secret] = [join(folder, 'id'), join(folder, 'secret')];
    const replace = async (key: string) => {
      await writeFile(id, `${key}\n`);
      await writeFile(secret, `${secretOf(key)}\n`);
    };
    await replace('OLD1');
    const credentials = { accessKeyId: 'OLD1', secretAccessKey: secretOf('OLD1') };
    return { settings: { kind: 'keys', credentials, files: { accessKeyId: id, secretAccessKey: secret } }, replace };
  },
  profile: async () => {
    const [config, credentials] = [join(folder, 'config'), join(folder, 'credentials')];
    const replace = (key: string) =>
      writeFile(credentials, `[prod]\naws_access_key_id = ${key}\naws_secret_access_key = ${secretOf(key)}\n`);
    await writeFile(config, '[profile prod]\nregion = jp-west-1\n');
    await replace('OLD1');
    const env = { AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: credentials };
    return { settings: { kind: 'profile', name: 'prod' }, env, replace };
  },
  process: async () => {
    const file = join(folder, 'printed.json');
    const replace = (key: string) =>
      writeFile(file, JSON.stringify({ Version: 1, AccessKeyId: key, SecretAccessKey: secretOf(key) }));
    await replace('OLD1');
    const command = [process.execPath, '-e', 'process.stdout.write(fs.readFileSync(process.argv[1]))', file];
    return { settings: { kind: 'process', command }, replace };
  },
};

describe.each(Object.entries(ways))('keys in %s', (kind, way) => {
  test('are replaced while 16 calls run, and none fails', async () => {
    const { settings, env, replace } = await way();
    // A program runs once a minute at most: its minute passes here at once.
    let later = 0;
    const keys = openKeys(settings, {
      env: env ?? {},
      now: () => new Date(Date.now() + later),
      log: () => undefined,
    }).keys;
    const { call, close } = callerWith(keys);
    let number = 0;
    const send = () => {
      number += 1;
      return call(restoreInstance, change(`i-${number}`), { signal: new AbortController().signal });
    };
    expect(await send()).toMatchObject({ ok: true });
    let waiting = 0;
    const old = answer;
    answer = (request, response) => {
      waiting += 1;
      setTimeout(() => old(request, response), 20);
    };
    const before = Array.from({ length: 8 }, send);
    await expect.poll(() => waiting).toBeGreaterThan(0);
    await replace('NEW2');
    if (kind === 'process') later = 61_000;
    valid = 'NEW2';
    const results = await Promise.all([...before, ...Array.from({ length: 8 }, send)]);
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(new Set(cloud.requests.map(keyOf))).toContain('NEW2');
    await close();
  });

  test('a change that was sent is recognised after they were replaced', async () => {
    const { settings, env, replace } = await way();
    const store = memoryStore();
    const first = callerWith(open(settings, env), store);
    expect((await first.call(restoreInstance, change('i-1'), { signal: never })).ok).toBe(true);
    await replace('NEW2');
    valid = 'NEW2';
    const later = callerWith(open(settings, env), store);
    expect(await later.call(restoreInstance, change('i-1'), { signal: never })).toMatchObject({
      failure: { code: 'Repeated' },
    });
    await first.close();
  });
});

/** Keys that are others from the first refusal on. */
const renewing = (): KeySource & { asked: number } => {
  const of = (accessKeyId: string): Credentials => ({ accessKeyId, secretAccessKey: secretOf(accessKeyId) });
  let keys = of('OLD1');
  return {
    id: 'file /id',
    asked: 0,
    current: async () => keys,
    async renewed() {
      this.asked += 1;
      if (keys.accessKeyId === 'NEW2') return undefined;
      keys = of('NEW2');
      return keys;
    },
  };
};

describe('a change that was refused', () => {
  test.each([
    [400, 'ExpiredToken', true],
    [403, 'InvalidAccessKeyId', true],
    [401, 'ExpiredTokenException', true],
    [403, 'AccessDenied', false],
    [500, 'ExpiredToken', false],
  ])('with status %i and %s is sent once more: %s', async (status, code, again) => {
    const keys = renewing();
    const { call, close } = callerWith(keys);
    valid = 'NEW2';
    refusal = { status, code };
    expect((await call(restoreInstance, change('i-1'), { signal: never })).ok).toBe(again);
    expect(cloud.requests.map(keyOf)).toEqual(again ? ['OLD1', 'NEW2'] : ['OLD1']);
    await close();
  });

  test('with fresh keys too is not sent a third time', async () => {
    const keys = renewing();
    const { call, close } = callerWith(keys);
    valid = 'NONE';
    expect(await call(restoreInstance, change('i-1'), { signal: never })).toMatchObject({
      failure: { code: 'InvalidAccessKeyId', mayHaveHappened: false },
    });
    expect([cloud.requests.length, keys.asked]).toEqual([2, 1]);
    await close();
  });

  test('is recorded with the key that signed it', async () => {
    const store = memoryStore();
    const { call, close } = callerWith(renewing(), store);
    valid = 'NEW2';
    await call(restoreInstance, change('i-1'), { signal: never });
    expect(await store.newest({ limit: 99 })).toMatchObject([
      { keyId: 'OLD1', state: 'accepted', ending: { keyId: 'NEW2' } },
    ]);
    await close();
  });
});

test('keys that expire between pages are replaced, and the pages are one answer', async () => {
  const { call, close } = callerWith(renewing());
  const page = (number: number, more: boolean) =>
    `<ListPartsResult><Bucket>b</Bucket><Key>o</Key><UploadId>u</UploadId><PartNumberMarker>${number - 1}</PartNumberMarker>${
      more ? `<NextPartNumberMarker>${number}</NextPartNumberMarker>` : ''
    }<MaxParts>1</MaxParts><IsTruncated>${more}</IsTruncated><Part><PartNumber>${number}</PartNumber><LastModified>2026-11-22T11:00:00.000Z</LastModified><ETag>"e"</ETag><Size>5</Size></Part></ListPartsResult>`;
  answer = ({ url }, response) => {
    const marker = Number(new URL(url, cloud.origin).searchParams.get('part-number-marker') ?? 0);
    valid = 'NEW2';
    response.writeHead(200, { 'content-type': 'application/xml' }).end(page(marker + 1, marker < 2));
  };
  refusal = { status: 400, code: 'ExpiredToken' };
  const args = { bucket: 'b', object: 'o', uploadId: 'u', view: 'summary' };
  const result = await call(listParts, args, { signal: never });
  expect(result).toMatchObject({ ok: true, structured: { answer: { partCount: 3 } } });
  expect(cloud.requests.map(keyOf)).toEqual(['OLD1', 'OLD1', 'NEW2', 'NEW2']);
  await close();
});

test('an answer is shown without any of the keys that its call was signed with', async () => {
  const { call, close } = callerWith(renewing());
  valid = 'NEW2';
  answer = (_request, response) => {
    const id = `${secretOf('OLD1')} and ${secretOf('NEW2')}`;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ instance: { id, name: secretOf('OLD1') } }));
  };
  const told = JSON.stringify(await call(restoreInstance, change('i-1'), { signal: never }));
  expect(told).not.toMatch(/secret\/of/);
  await close();
});

test('a call without keys was not sent, and says why', async () => {
  const command = [process.execPath, '-e', 'console.error("MARKER"); process.exit(7)'];
  const { call, close } = callerWith(open({ kind: 'process', command }));
  const result = await call(restoreInstance, change('i-1'), { signal: never });
  expect(result).toMatchObject({ failure: { code: 'KeysUnavailable', mayHaveHappened: false } });
  expect(JSON.stringify(result)).toContain('CLOUDOPS_CREDENTIAL_PROCESS ended with exit code 7');
  expect(JSON.stringify(result)).not.toContain('MARKER');
  expect(cloud.requests).toEqual([]);
  await close();
});
