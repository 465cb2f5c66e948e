import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, seededUpload, startSandbox } from '../../sandbox/sandbox.js';
import { type CommandClient, commandClients, type Ended } from './commands.js';

/** The AWS CLI, rclone and s3cmd with the sandbox: what goes up comes down, and what is not offered is refused. */

const folder = mkdtempSync(join(tmpdir(), 's3-clients-'));
const bucket = 'clients';
const key = 'Backups/日本 + ü/data.bin';
const names = ['AWS CLI', 'rclone', 's3cmd'];
const file = (name: string, bytes: number) => {
  const path = join(folder, name);
  writeFileSync(path, randomBytes(bytes));
  return path;
};

let sandbox: Sandbox;
let clients: readonly CommandClient[];
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  clients = commandClients(sandbox, folder);
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const clientOf = (name: string) => {
  const client = clients.find((one) => one.name === name);
  if (client === undefined) throw new Error(`no client ${name}`);
  return client;
};
const ends = ({ code, stdout, stderr }: Ended) => expect(code, stdout + stderr).toBe(0);
const requests = async (operation: string) =>
  (await sandbox.describe()).split('\n').filter((line) => line.includes(` ${operation}: 200, `)).length;

/** Texts by path, written into a folder. */
function write(place: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), text);
  }
}
const read = (place: string) =>
  Object.fromEntries(
    readdirSync(place, { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(join(place, path)).isFile())
      .map((path) => [path, readFileSync(join(place, path), 'utf8')]),
  );

describe.each(names)('%s', (name) => {
  const own = `${bucket}-${names.indexOf(name)}`;

  test('is installed', async () => {
    const { code, stderr } = await clientOf(name).version();
    expect(code, `${name} has to be installed (Debian: awscli, rclone, s3cmd): ${stderr}`).toBe(0);
  });

  test('brings a large file up in parts, over another, and down again', async () => {
    const client = clientOf(name);
    const [old, large, back] = [file('old', 1000), file('large', 18 * 1024 * 1024 + 1), join(folder, 'back')];
    ends(await client.makeBucket(own));
    ends(await client.upload(old, own, key));
    ends(await client.download(own, key, back));
    expect(readFileSync(back).equals(readFileSync(old))).toBe(true);
    const completed = await requests('complete_multipart_upload');
    ends(await client.upload(large, own, key));
    expect(await requests('complete_multipart_upload')).toBe(completed + 1);
    ends(await client.download(own, key, back));
    expect(readFileSync(back).equals(readFileSync(large))).toBe(true);
    ends(await client.remove(own, key));
    expect((await client.download(own, key, back)).code).not.toBe(0);
  });

  test('brings a folder up and back, and then only what changed', async () => {
    const client = clientOf(name);
    const files = { 'a.txt': 'a', 'b/ü + 日本.txt': 'b', 'b/c/large.bin': 'c'.repeat(100_000), 'd & <e>.txt': 'd' };
    const [from, to] = [join(folder, `from-${own}`), join(folder, `to-${own}`)];
    const place = client.place(`${own}-tree`);
    write(from, files);
    mkdirSync(to);
    ends(await client.makeBucket(`${own}-tree`));
    ends(await client.sync(from, place));
    const { stdout } = await client.list(`${own}-tree`);
    for (const key of Object.keys(files)) expect(stdout).toContain(key);
    ends(await client.sync(place, to));
    expect(read(to)).toEqual(files);

    const puts = await requests('put_object');
    const { 'a.txt': _, ...others } = files;
    const changed = { ...others, 'b/c/new.txt': 'new' };
    rmSync(join(from, 'a.txt'));
    write(from, { 'b/c/new.txt': 'new' });
    ends(await client.sync(from, place));
    expect(await requests('put_object')).toBe(puts + 1);
    ends(await client.sync(place, to));
    expect(read(to)).toEqual(changed);

    ends(await client.removeAll(`${own}-tree`));
    expect((await client.list(`${own}-tree`)).stdout.trim()).toBe('');
  });

  test('lists uploads that are not completed', async () => {
    const listed = await clientOf(name).uploads(seededUpload.bucket);
    ends(listed);
    expect(listed.stdout).toContain(seededUpload.uploadId);
  });
});

const put = ['s3api', 'put-object', '--bucket=refused', '--key=k', '--body'];

describe('is refused, and nothing is kept', () => {
  test.each<[string, string, (file: string) => string[]]>([
    ['AWS CLI', 'an ACL', (file) => [...put, file, '--acl=public-read']],
    ['AWS CLI', 'a key of KMS', (file) => [...put, file, '--server-side-encryption=aws:kms']],
    ['AWS CLI', 'a list of versions', () => ['s3api', 'list-object-versions', '--bucket=refused']],
    ['AWS CLI', 'a copy', () => ['s3api', 'copy-object', '--bucket=refused', '--key=k', '--copy-source=refused/k']],
    ['rclone', 'an ACL', (file) => ['copyto', '--s3-acl=public-read', file, 'sandbox:refused/k']],
    ['rclone', 'a storage class', (file) => ['copyto', '--s3-storage-class=GLACIER', file, 'sandbox:refused/k']],
  ])('%s: %s', async (name, _what, args) => {
    const client = clientOf(name);
    await client.makeBucket('refused');
    const before = await held();
    const { code, stdout, stderr } = await client.run(...args(file('small', 100)));
    expect(code, stdout).not.toBe(0);
    expect(stderr).toContain('NotImplemented');
    expect(await held()).toBe(before);
  });

  /** All that the sandbox has, without what it was asked. */
  const held = async () => (await sandbox.describe()).split('## Last requests')[0];
});
