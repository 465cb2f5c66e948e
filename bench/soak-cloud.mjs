// Runs the sandbox with random faults, behind a relay that counts the changes that reach it.
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { importSource } from '../scripts/source.mjs';

const faults = [
  ...['reset-before-request', 'reset-after-request', 'half-body', 'truncated', 'malformed', 'html'],
  ...['429:1', '500', '503', '504'],
];

/** Faults in turn with a few correct but slow answers, enough for more than ten minutes. */
const scenario = (operation, random) =>
  Array.from({ length: 4_000 }, () => [
    `${operation}=slow-body:1*${1 + Math.floor(random() * 6)}`,
    `${operation}=${faults[Math.floor(random() * faults.length)]}*1`,
  ]).flat();

/** Starts the cloud. `random` returns numbers from 0 to below 1. */
export async function startCloud({ folder, random, run, json }) {
  const file = join(folder, 'faults.txt');
  const lines = [...scenario('restore_instance', random), ...scenario('list_parts', random), 'latency=uniform(5,40)'];
  writeFileSync(file, lines.join('\n'));
  const settings = await json(run(['sandbox', '--json', '--fault', `@${file}`]));
  const { port } = new URL(settings.CLOUDOPS_DEVOPS_URL);
  const relay = await startRelay(Number(port));
  const through = (url) => Object.assign(new URL(url), { port: relay.port }).href.replace(/\/$/, '');
  const { CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY, CLOUDOPS_DEVOPS_URL } = settings;
  return {
    settings: {
      CLOUDOPS_ACCESS_KEY_ID,
      CLOUDOPS_SECRET_ACCESS_KEY,
      CLOUDOPS_DEVOPS_URL: through(CLOUDOPS_DEVOPS_URL),
      CLOUDOPS_STORAGE_URL: through(settings.CLOUDOPS_STORAGE_URL),
    },
    /** Number of requests per server, without requests that were answered with 429. */
    asked: relay.asked,
    /** IDs of the servers that exist. */
    instances: () => listInstances(settings),
  };
}

/** Forwards all bytes and broken connections. */
async function startRelay(to) {
  const asked = new Map();
  const server = createServer((client) => {
    const cloud = connect(to, '127.0.0.1');
    let sent = '';
    let id;
    let answered = false;
    client.on('data', (chunk) => {
      if (id !== undefined) return;
      sent = (sent + chunk.toString('latin1')).slice(-16_384);
      id = /"instanceId":"([\w-]+)"/.exec(sent)?.[1];
      if (id !== undefined) asked.set(id, (asked.get(id) ?? 0) + 1);
    });
    cloud.on('data', (chunk) => {
      if (!answered && id !== undefined && chunk.toString('latin1', 0, 12) === 'HTTP/1.1 429')
        asked.set(id, asked.get(id) - 1);
      answered = true;
    });
    client.pipe(cloud);
    cloud.pipe(client);
    client.on('error', () => cloud.destroy());
    client.on('close', () => cloud.destroy());
    cloud.on('error', () => client.resetAndDestroy());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, asked };
}

async function listInstances({ CLOUDOPS_DEVOPS_URL, CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY }) {
  const { sign, apiProfile } = await importSource(
    "export { sign } from './src/signing/sign.ts'; export { apiProfile } from './src/signing/signature-variants.ts';",
  );
  const { origin, host, pathname } = new URL(CLOUDOPS_DEVOPS_URL);
  const path = `${pathname.replace(/\/$/, '')}/v1/instances`;
  const { headers } = await sign(
    { method: 'GET', host, path, query: {}, headers: {} },
    {
      profile: apiProfile,
      credentials: { accessKeyId: CLOUDOPS_ACCESS_KEY_ID, secretAccessKey: CLOUDOPS_SECRET_ACCESS_KEY },
      region: 'jp-east-1',
      service: 'devops',
      date: new Date(),
    },
  );
  const { host: _, ...others } = headers;
  const { instances } = await (await fetch(origin + path, { headers: others })).json();
  return new Set(instances.map(({ instanceId }) => instanceId));
}
