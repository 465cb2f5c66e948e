// Starts each object store on loopback, runs the storage suite against it, and stops it.
// Usage: node test/s3/run.mjs [swift] [radosgw] [sandbox] [-- options of vitest]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const split = process.argv.indexOf('--');
const named = process.argv.slice(2, split < 0 ? undefined : split);
const options = split < 0 ? [] : process.argv.slice(split + 1);

/** Starts a real store with its script. Resolves with where it is and how to stop it. */
async function startStore(server) {
  const started = execFileSync(`${folder}start-${server}.sh`, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // The script's last line is `S3_ENDPOINT=… S3_REGION=… S3_ACCESS_KEY=… S3_SECRET_KEY=…`.
  const pairs = started.trim().split('\n').at(-1).split(' ');
  const settings = Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  return { settings, stop: () => execFileSync(`${folder}stop-${server}.sh`, { stdio: 'inherit' }) };
}

async function startSandbox() {
  const child = spawn(process.execPath, [main, 'sandbox', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  if (typeof line !== 'string') throw new Error('the sandbox ended');
  const variables = JSON.parse(line);
  return {
    settings: {
      S3_ENDPOINT: variables.CLOUDOPS_STORAGE_URL,
      S3_REGION: 'jp-east-1',
      S3_ACCESS_KEY: variables.CLOUDOPS_ACCESS_KEY_ID,
      S3_SECRET_KEY: variables.CLOUDOPS_SECRET_ACCESS_KEY,
    },
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

let failed = false;
for (const server of named.length > 0 ? named : ['swift', 'radosgw', 'sandbox']) {
  console.log(`\n== ${server}`);
  let store;
  try {
    store = await (server === 'sandbox' ? startSandbox() : startStore(server));
  } catch {
    console.error(`${server} could not be started; the line above says what to install or what is in the way.`);
    failed = true;
    continue;
  }
  try {
    const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', 'vitest.s3.config.ts', ...options], {
      stdio: 'inherit',
      env: { ...process.env, ...store.settings, S3_SERVER: server },
    });
    if (status !== 0) failed = true;
  } finally {
    await store.stop();
  }
}
process.exitCode = failed ? 1 : 0;
