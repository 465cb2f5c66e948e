// Records uploads of real clients to the sandbox, through a proxy with a known rate.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DeleteObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { startUploadProxy } from './upload-proxy.mjs';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const bucket = 'demo-bucket';
const mebibyte = 1024 * 1024;
/** An upload that takes longer than this has gone wrong. */
const longestMs = 420_000;
/** The end of a request that was still open when the recording ended. */
const neverMs = 1_000_000;

/** How each client is told to upload a file. */
const clients = {
  'aws cli': {
    config: ({ connections, partSize }) =>
      `[default]\ns3 =\n  max_concurrent_requests = ${connections}\n  multipart_chunksize = ${partSize}MB\n  multipart_threshold = ${partSize}MB\n  addressing_style = path\n`,
    command: ({ file, key }) => ['aws', 's3', 'cp', '--no-progress', file, `s3://${bucket}/${key}`],
  },
  rclone: {
    config: ({ endpoint, connections, partSize }) =>
      `[store]\ntype = s3\nprovider = Other\nenv_auth = true\nforce_path_style = true\nendpoint = ${endpoint}\nupload_concurrency = ${connections}\nchunk_size = ${partSize}M\nupload_cutoff = 5M\n`,
    command: ({ config, file, key, limit }) => [
      'rclone',
      '--config',
      config,
      'copyto',
      file,
      `store:${bucket}/${key}`,
      ...(limit === undefined ? [] : ['--bwlimit', `${limit}M`]),
    ],
  },
  boto3: {
    config: () => '',
    command: ({ file, key, connections, partSize, resumedAfter }) => [
      'python3',
      here('upload-client.py'),
      ...[file, bucket, key, String(connections), String(partSize * mebibyte)],
      ...(resumedAfter === undefined ? [] : ['resume']),
    ],
  },
  s3cmd: {
    config: ({ endpoint, env }) => {
      const { host } = new URL(endpoint);
      return `[default]\nhost_base = ${host}\nhost_bucket = ${host}\nbucket_location = jp-east-1\nuse_https = False\naccess_key = ${env.AWS_ACCESS_KEY_ID}\nsecret_key = ${env.AWS_SECRET_ACCESS_KEY}\n`;
    },
    command: ({ config, file, key, partSize, resumedAfter }) => [
      's3cmd',
      '--config',
      config,
      '--quiet',
      `--multipart-chunk-size-mb=${partSize}`,
      ...(resumedAfter === undefined ? [] : ['--continue-put']),
      ...['put', file, `s3://${bucket}/${key}`],
    ],
  },
};
for (const library of ['lib-storage', 'minio-js'])
  clients[library] = {
    config: () => '',
    command: ({ file, key, connections, partSize }) => [
      process.execPath,
      here('upload-client.mjs'),
      ...[library, file, bucket, key, String(connections), String(partSize * mebibyte)],
    ],
  };

/** The rate of the proxy over time, and what else goes wrong, by the name of the course. Rates in MiB/s, times in milliseconds. */
const courses = {
  steady: () => ({ kind: 'constant' }),
  fall: ({ rate, changedMs, factor = 0.3 }) => ({
    kind: `rate ${rate}→${Number((rate * factor).toFixed(2))}`,
    rates: [
      [0, rate],
      [changedMs, rate * factor],
    ],
    changedMs,
  }),
  rise: ({ rate, changedMs, factor = 3 }) => ({
    kind: `rate ${rate}→${Number((rate * factor).toFixed(2))}`,
    rates: [
      [0, rate],
      [changedMs, rate * factor],
    ],
    changedMs,
  }),
  pause: ({ rate, pausedMs }) => ({
    kind: 'pause',
    rates: [
      [0, rate],
      [pausedMs[0], 0],
      [pausedMs[1], rate],
    ],
    paused: pausedMs,
  }),
  wave: ({ rate }) => ({
    kind: `rate changing each 8 s`,
    rates: Array.from({ length: 60 }, (_, index) => [
      index * 8000,
      rate * [1.4, 0.5, 1.8, 0.8, 0.4, 1.2, 1][index % 7],
    ]),
  }),
  retries: ({ seed = 0 }) => ({
    kind: 'failed parts',
    failed: (part, attempt) => attempt === 1 && (part * 2654435761 + seed * 40503) % 1000 < 180,
  }),
  'one slow connection': () => ({ kind: 'one slow connection', slowFactor: 0.25 }),
  resumed: () => ({ kind: 'resumed' }),
  killed: () => ({ kind: 'killed' }),
};

/**
 * Records uploads, `together` of them at a time, and gives each to `onRecorded`.
 * @param recordings name, client, connections, partSize and size (MiB), rate (MiB/s), course, and what the course needs
 */
export async function recordUploads(recordings, { together, onRecorded }) {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-uploads-'));
  const sandbox = spawn(process.execPath, [here('../dist/main.js'), 'sandbox', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(sandbox.stdout, 'data');
    const variables = JSON.parse(line);
    const cloud = {
      origin: variables.CLOUDOPS_STORAGE_URL,
      env: {
        AWS_ACCESS_KEY_ID: variables.CLOUDOPS_ACCESS_KEY_ID,
        AWS_SECRET_ACCESS_KEY: variables.CLOUDOPS_SECRET_ACCESS_KEY,
        AWS_REGION: 'jp-east-1',
        AWS_DEFAULT_REGION: 'jp-east-1',
        AWS_REQUEST_CHECKSUM_CALCULATION: 'when_required',
      },
      folder,
    };
    const queue = [...recordings];
    const work = async () => {
      for (let shape = queue.shift(); shape !== undefined; shape = queue.shift())
        await record(shape, cloud).then(onRecorded, (error) => console.error(`${shape.name}: ${error.message}`));
    };
    await Promise.all(Array.from({ length: together }, work));
  } finally {
    sandbox.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function record(shape, { origin, env, folder }) {
  const { name, client, connections, size, rate, course, killedAfter, resumedAfter } = shape;
  const { kind, rates = [[0, rate]], failed, slowFactor, changedMs, paused } = courses[course](shape);
  const rateAt = (ms) => (rates.findLast(([from]) => from <= ms)?.[1] ?? rate) * mebibyte;
  const proxy = await startUploadProxy(origin, { rateAt, failed, slowFactor, connections });
  const [file, config] = [join(folder, `${name}.bin`), join(folder, `${name}.conf`)];
  const descriptor = openSync(file, 'w');
  ftruncateSync(descriptor, size * mebibyte);
  closeSync(descriptor);
  const variables = {
    ...env,
    AWS_ENDPOINT_URL_S3: proxy.url,
    AWS_CONFIG_FILE: config,
    HOME: folder,
    PATH: process.env.PATH,
  };
  const options = { ...shape, endpoint: proxy.url, env, file, config, key: name };
  writeFileSync(config, clients[client].config(options));
  const run = (limitMs) => runClient(clients[client].command(options), variables, limitMs);
  try {
    let stopped = paused;
    if (killedAfter !== undefined) await run(killedAfter);
    if (resumedAfter !== undefined) {
      const from = proxy.elapsedMs();
      await sleep(resumedAfter);
      const status = await run(longestMs);
      if (status !== 0) throw new Error(`the client ended with ${status}`);
      const begins = proxy.recorded.requests.map(([, begin]) => begin);
      stopped = [from, Math.min(...begins.filter((begin) => begin > from))];
    } else if (killedAfter === undefined) {
      const status = await run(longestMs);
      if (status !== 0) throw new Error(`the client ended with ${status}`);
    }
    const endedMs = proxy.elapsedMs();
    const store = new S3Client({
      endpoint: origin,
      region: env.AWS_REGION,
      forcePathStyle: true,
      credentials: { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY },
    });
    await store.send(new DeleteObjectCommand({ Bucket: bucket, Key: name })).catch(() => {});
    const { arrivals, requests, initiatedMs } = proxy.recorded;
    return {
      ...{ name, kind, client: shape.limit === undefined ? client : `${client} --bwlimit`, connections },
      ...{ size: size * mebibyte, initiatedMs, endedMs, paused: stopped ?? null },
      ...(changedMs !== undefined && { changedMs }),
      rates: rates.filter(([from]) => from < endedMs).map(([from, value]) => [from, Math.round(value * mebibyte)]),
      arrivals,
      requests: requests.map(([part, begin, end = neverMs, status]) => [part, begin, end, status]),
    };
  } finally {
    proxy.close();
    rmSync(file, { force: true });
  }
}

/** Resolves with the exit status of a client, which is killed after a time. */
async function runClient([command, ...args], env, limitMs) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'], detached: true });
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), limitMs);
  const [status, signal] = await once(child, 'exit');
  clearTimeout(timer);
  return status ?? signal;
}
