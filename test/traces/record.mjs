// Records how the parts of uploads by real clients arrive: node test/traces/record.mjs [NAME…]
// Needs `npm run build`, and the AWS CLI, rclone and s3cmd installed. Writes one JSON file a trace beside this script.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ListMultipartUploadsCommand, ListPartsCommand, S3Client } from '@aws-sdk/client-s3';

const bucket = 'demo-bucket';
/** So many are answered between a client's last part and its completing the upload, as every request waits for `latencyMs`. */
const pollMs = 50;
const latencyMs = 150;
const mebibyte = 1024 * 1024;

/**
 * What to record: `parallel` parts at once, all together at `rate` MiB/s (no limit if absent), in parts of `partSize` MiB.
 * `pause` stops the client's processes so many seconds after the start, and lets them go on so many seconds later.
 */
const traces = {
  'aws-serial': { client: 'aws', parallel: 1, rate: 3, partSize: 5, size: 121 },
  'aws-4': { client: 'aws', parallel: 4, rate: 2, partSize: 8, size: 124 },
  'aws-10': { client: 'aws', parallel: 10, rate: 6, partSize: 8, size: 396 },
  'aws-10-paused': { client: 'aws', parallel: 10, rate: 6, partSize: 8, size: 316, pause: [22, 60] },
  'rclone-serial': { client: 'rclone', parallel: 1, rate: 4, partSize: 5, size: 201 },
  'rclone-4': { client: 'rclone', parallel: 4, rate: 2, partSize: 5, size: 118 },
  'rclone-4-paused': { client: 'rclone', parallel: 4, rate: 4, partSize: 5, size: 203, pause: [15, 45] },
  'rclone-10': { client: 'rclone', parallel: 10, rate: 6, partSize: 5, size: 302 },
  'rclone-unlimited': { client: 'rclone', parallel: 4, partSize: 5, size: 1003 },
  's3cmd-serial': { client: 's3cmd', parallel: 1, rate: 3, partSize: 5, size: 131 },
  's3cmd-paused': { client: 's3cmd', parallel: 1, rate: 4, partSize: 8, size: 204, pause: [12, 30] },
};

/** How each client is told to upload a file. `env` holds the credentials for all of them. */
const clients = {
  aws: {
    version: ['aws', '--version'],
    config: ({ parallel, rate, partSize }) =>
      ['[default]', 's3 =', `  max_concurrent_requests = ${parallel}`, `  multipart_chunksize = ${partSize}MB`]
        .concat(rate === undefined ? [] : [`  max_bandwidth = ${rate}MB/s`])
        .join('\n'),
    command: ({ endpoint, file, key }) => [
      'aws',
      '--endpoint-url',
      endpoint,
      's3',
      'cp',
      '--no-progress',
      file,
      `s3://${bucket}/${key}`,
    ],
  },
  rclone: {
    version: ['rclone', 'version'],
    config: ({ endpoint, parallel, partSize }) =>
      ['[store]', 'type = s3', 'provider = Other', 'env_auth = true', `endpoint = ${endpoint}`]
        .concat([`upload_concurrency = ${parallel}`, `chunk_size = ${partSize}M`, 'upload_cutoff = 5M'])
        .join('\n'),
    command: ({ config, file, key, rate }) =>
      ['rclone', '--config', config, 'copyto', file, `store:${bucket}/${key}`].concat(
        rate === undefined ? [] : ['--bwlimit', `${rate}M`],
      ),
  },
  s3cmd: {
    version: ['s3cmd', '--version'],
    config: ({ endpoint, env }) => {
      const { host } = new URL(endpoint);
      return ['[default]', `host_base = ${host}`, `host_bucket = ${host}`, 'use_https = False']
        .concat([`access_key = ${env.AWS_ACCESS_KEY_ID}`, `secret_key = ${env.AWS_SECRET_ACCESS_KEY}`])
        .join('\n');
    },
    command: ({ config, file, key, rate, partSize }) =>
      ['s3cmd', '--config', config, '--quiet', `--multipart-chunk-size-mb=${partSize}`].concat(
        rate === undefined ? [] : [`--limit-rate=${rate}m`],
        ['put', file, `s3://${bucket}/${key}`],
      ),
  },
};

// Settings of the machine's own AWS clients, such as a bundle of certificates, are not for these.
const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_')));
const folder = mkdtempSync(join(tmpdir(), 'cloudops-traces-'));
const sandbox = spawn(
  process.execPath,
  ['dist/main.js', 'sandbox', '--port', '0', '--json', '--fault', `latency=uniform(${latencyMs},${latencyMs})`],
  {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
try {
  const [line] = await once(sandbox.stdout, 'data');
  const variables = JSON.parse(line);
  const cloud = {
    endpoint: variables.CLOUDOPS_STORAGE_URL,
    env: {
      AWS_ACCESS_KEY_ID: variables.CLOUDOPS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: variables.CLOUDOPS_SECRET_ACCESS_KEY,
      AWS_REGION: 'jp-east-1',
      AWS_DEFAULT_REGION: 'jp-east-1',
    },
  };
  const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(traces);
  for (const name of chosen) await record(name, traces[name], cloud);
} finally {
  sandbox.kill();
  rmSync(folder, { recursive: true });
}

async function record(name, shape, { endpoint, env }) {
  const { version, config: configOf, command: commandOf } = clients[shape.client];
  const [file, config] = [join(folder, `${name}.bin`), join(folder, `${name}.conf`)];
  const expectedBytes = shape.size * mebibyte;
  const descriptor = openSync(file, 'w');
  ftruncateSync(descriptor, expectedBytes);
  closeSync(descriptor);
  const options = { ...shape, endpoint, env, file, config, key: name };
  writeFileSync(config, `${configOf(options)}\n`);

  const command = commandOf(options);
  const startedAt = Date.now();
  const after = (time) => time - startedAt;
  const upload = spawn(command[0], command.slice(1), {
    env: { ...inherited, ...env, AWS_CONFIG_FILE: config, HOME: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const ended = once(upload, 'exit');
  let running = true;
  ended.finally(() => {
    running = false;
  });
  const pause = shape.pause === undefined ? undefined : stopAndContinue(upload, shape.pause, after);

  const s3 = new S3Client({
    endpoint,
    region: env.AWS_REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY },
  });
  const uploadId = await Promise.race([idOf(s3, name), ended.then(() => undefined)]);
  if (uploadId === undefined) throw new Error(`${command[0]} ended before it started a multipart upload`);
  const observed = new Map();
  const observe = async () => {
    for (const { PartNumber, Size, LastModified } of await listParts(s3, name, uploadId))
      if (!observed.has(PartNumber))
        observed.set(PartNumber, [PartNumber, Size, after(LastModified.getTime()), after(Date.now())]);
  };
  const observations = [];
  while (running) {
    observations.push(observe());
    await sleep(pollMs);
  }
  await Promise.all(observations);
  const [status] = await ended;
  if (status !== 0) throw new Error(`${command[0]} ended with status ${status}`);
  const { client: _, size, pause: __, ...settings } = shape;
  const trace = {
    source: 'recorded against the sandbox by test/traces/record.mjs',
    client: execFileSync(version[0], version.slice(1), { encoding: 'utf8' }).split('\n')[0],
    settings: { ...settings, unitOfSizes: 'MiB' },
    startedAt: new Date(startedAt).toISOString(),
    expectedBytes,
    ...(pause !== undefined && { pausedMs: await pause }),
    endedMs: after(Date.now()),
    columns: ['partNumber', 'bytes', 'lastModifiedMs', 'firstSeenMs'],
    parts: [...observed.values()].sort((a, b) => a[2] - b[2]),
  };
  const path = fileURLToPath(new URL(`${name}.json`, import.meta.url));
  // One part a line, as Biome formats it.
  writeFileSync(path, `${JSON.stringify(trace)}\n`);
  process.stdout.write(`${name}: ${trace.parts.length} parts in ${trace.endedMs} ms\n`);
}

/** Waits for the client to start an upload. */
async function idOf(s3, key) {
  for (;;) {
    const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    const upload = Uploads.find(({ Key }) => Key === key);
    if (upload !== undefined) return upload.UploadId;
    await sleep(pollMs);
  }
}

/** None once the client has completed the upload. */
function listParts(s3, key, uploadId) {
  return s3.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId })).then(
    ({ Parts = [] }) => Parts,
    (error) => (error.name === 'NoSuchUpload' ? [] : Promise.reject(error)),
  );
}

async function stopAndContinue({ pid }, [fromSeconds, seconds], after) {
  await sleep(fromSeconds * 1000);
  process.kill(-pid, 'SIGSTOP');
  const from = after(Date.now());
  await sleep(seconds * 1000);
  process.kill(-pid, 'SIGCONT');
  return [from, after(Date.now())];
}
