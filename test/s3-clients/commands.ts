import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '../../sandbox/sandbox.js';

/** The command-line clients, each as its own documentation says to use it. */

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandClient {
  readonly name: string;
  version(): Promise<Ended>;
  makeBucket(bucket: string): Promise<Ended>;
  /** In parts if the file has more than 8 MiB. */
  upload(file: string, bucket: string, key: string): Promise<Ended>;
  download(bucket: string, key: string, file: string): Promise<Ended>;
  remove(bucket: string, key: string): Promise<Ended>;
  /** The keys of a bucket, one a line, beside what else the client tells. */
  list(bucket: string): Promise<Ended>;
  /** Makes one place hold what another does; a place is a folder or the result of `place`. */
  sync(from: string, to: string): Promise<Ended>;
  place(bucket: string): string;
  removeAll(bucket: string): Promise<Ended>;
  /** The uploads of a bucket that are not completed. */
  uploads(bucket: string): Promise<Ended>;
  /** With arguments of its own. */
  run(...args: string[]): Promise<Ended>;
}

/** Runs programs in a folder, with the sandbox's address and keys, and further variables. */
export function runnerOf({ cloud }: Sandbox, folder: string, more: Readonly<Record<string, string>> = {}) {
  const { credentials, endpoints } = cloud;
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    LANG: 'C.UTF-8',
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_ENDPOINT_URL_S3: endpoints.storage,
    AWS_REGION: 'jp-east-1',
    AWS_DEFAULT_REGION: 'jp-east-1',
    AWS_REQUEST_CHECKSUM_CALCULATION: 'when_required',
    // One attempt: what is refused is not to be tried again.
    AWS_MAX_ATTEMPTS: '1',
    ...more,
  };
  return (command: string, args: readonly string[]) =>
    new Promise<Ended>((resolve) => {
      execFile(command, args, { env, cwd: folder }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 127;
        resolve({ code, stdout, stderr: stderr || (error?.message ?? '') });
      });
    });
}

/** The clients, with the sandbox's address and keys. Their configuration goes into `folder`. */
export function commandClients(sandbox: Sandbox, folder: string): readonly CommandClient[] {
  const { credentials, endpoints } = sandbox.cloud;
  const { accessKeyId, secretAccessKey } = credentials;
  const { host } = new URL(endpoints.storage);
  const rcloneConfig = join(folder, 'rclone.conf');
  writeFileSync(
    rcloneConfig,
    `[sandbox]\ntype = s3\nprovider = Other\nregion = jp-east-1\nforce_path_style = true\nendpoint = ${endpoints.storage}\n` +
      `access_key_id = ${accessKeyId}\nsecret_access_key = ${secretAccessKey}\n`,
  );
  const s3cfg = join(folder, 's3cfg');
  writeFileSync(
    s3cfg,
    `[default]\nhost_base = ${host}\nhost_bucket = ${host}\nbucket_location = jp-east-1\nuse_https = False\n` +
      `access_key = ${accessKeyId}\nsecret_key = ${secretAccessKey}\nmultipart_chunk_size_mb = 5\n`,
  );
  const run = runnerOf(sandbox, folder, { RCLONE_CONFIG: rcloneConfig });
  const aws = (...args: string[]) => run('aws', args);
  const rclone = (...args: string[]) => run('rclone', ['--retries=1', '--low-level-retries=1', ...args]);
  const s3cmd = (...args: string[]) => run('s3cmd', [`--config=${s3cfg}`, '--no-progress', ...args]);
  return [
    {
      name: 'AWS CLI',
      run: aws,
      version: () => aws('--version'),
      makeBucket: (bucket) => aws('s3', 'mb', `s3://${bucket}`),
      upload: (file, bucket, key) => aws('s3', 'cp', '--no-progress', file, `s3://${bucket}/${key}`),
      download: (bucket, key, file) => aws('s3', 'cp', '--no-progress', `s3://${bucket}/${key}`, file),
      remove: (bucket, key) => aws('s3', 'rm', `s3://${bucket}/${key}`),
      list: (bucket) => aws('s3', 'ls', '--recursive', `s3://${bucket}`),
      sync: (from, to) => aws('s3', 'sync', '--delete', '--no-progress', from, to),
      place: (bucket) => `s3://${bucket}`,
      removeAll: (bucket) => aws('s3', 'rm', '--recursive', `s3://${bucket}`),
      uploads: (bucket) => aws('s3api', 'list-multipart-uploads', '--bucket', bucket),
    },
    {
      name: 'rclone',
      run: rclone,
      version: () => rclone('version'),
      makeBucket: (bucket) => rclone('mkdir', `sandbox:${bucket}`),
      upload: (file, bucket, key) =>
        rclone('copyto', '--s3-upload-cutoff=8M', '--s3-chunk-size=5M', file, `sandbox:${bucket}/${key}`),
      download: (bucket, key, file) => rclone('copyto', `sandbox:${bucket}/${key}`, file),
      remove: (bucket, key) => rclone('deletefile', `sandbox:${bucket}/${key}`),
      list: (bucket) => rclone('lsf', '--recursive', `sandbox:${bucket}`),
      sync: (from, to) => rclone('sync', from, to),
      place: (bucket) => `sandbox:${bucket}`,
      removeAll: (bucket) => rclone('delete', `sandbox:${bucket}`),
      uploads: (bucket) => rclone('backend', 'list-multipart-uploads', `sandbox:${bucket}`),
    },
    {
      name: 's3cmd',
      run: s3cmd,
      version: () => s3cmd('--version'),
      makeBucket: (bucket) => s3cmd('mb', `s3://${bucket}`),
      upload: (file, bucket, key) => s3cmd('put', file, `s3://${bucket}/${key}`),
      download: (bucket, key, file) => s3cmd('get', '--force', `s3://${bucket}/${key}`, file),
      remove: (bucket, key) => s3cmd('del', `s3://${bucket}/${key}`),
      list: (bucket) => s3cmd('ls', '--recursive', `s3://${bucket}`),
      sync: (from, to) => s3cmd('sync', '--delete-removed', `${from}/`, `${to}/`),
      place: (bucket) => `s3://${bucket}`,
      removeAll: (bucket) => s3cmd('del', '--recursive', '--force', `s3://${bucket}`),
      uploads: (bucket) => s3cmd('multipart', `s3://${bucket}`),
    },
  ];
}
