// Calls a server with an OAuth issuer while strangers flood it from the same address. Run it with npm run bench -- strangers [--loops
// 256] [--calls 60]. Each loop sends tokens of unknown keys, one after the other. Fails if less than 95 % of the answers to the caller come
// within a second.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const { values: options } = parseArgs({
  options: { loops: { type: 'string', default: '256' }, calls: { type: 'string', default: '60' } },
});
const audience = 'https://cloudops.example.com/mcp';
/** Strangers run this long before the first call that is counted (milliseconds). */
const warmMs = 10_000;
const pauseMs = 100;
const goalMs = 1_000;
const upload = { bucket: 'demo-bucket', object: 'backups/2026/database.dump', uploadId: 'demo-upload-in-progress' };
const headersOf = (token) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-06-18',
});

/** Posts a message. Resolves with the status, or the code of a lost connection. */
const post = (url, agent, token, message) =>
  new Promise((resolve) => {
    const outgoing = request(url, { method: 'POST', agent, headers: headersOf(token) }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode));
    });
    outgoing.once('error', ({ code }) => resolve(code));
    outgoing.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
  });

/** Sends tokens of unknown keys until the thread ends. */
async function flood({ url, loops }) {
  const agent = new Agent({ keepAlive: true });
  const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = () => `${encoded({ alg: 'ES256', kid: randomUUID() })}.${encoded({ sub: 'x' })}.${'A'.repeat(86)}`;
  const loop = async () => {
    for (;;) {
      const result = await post(url, agent, unsigned(), { method: 'ping' });
      // Connections beyond the limit per address are refused.
      if (typeof result === 'string') await delay(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
}

async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }];
  const server = createServer(({ url }, response) => {
    const { port } = server.address();
    const issuer = `http://127.0.0.1:${port}`;
    const document = url === '/keys' ? { keys } : { issuer, jwks_uri: `${issuer}/keys` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const token = await new SignJWT({ scope: 'cloudops:read' })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject('caller')
    .setExpirationTime('1h')
    .sign(privateKey);
  return { issuer, token, close: () => server.close() };
}

async function startServer(issuer, folder) {
  const args = ['http', '--port', '0', '--sandbox'];
  const settings = { CLOUDOPS_HTTP_ISSUER: issuer, CLOUDOPS_HTTP_AUDIENCE: audience };
  const child = spawn(process.execPath, [fileURLToPath(new URL('../dist/main.js', import.meta.url)), ...args], {
    env: { PATH: process.env.PATH, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const port = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface(child.stderr).on('line', (line) => {
      if (line.includes('"event":"listening"')) resolve(JSON.parse(line).port);
    });
  });
  return `http://127.0.0.1:${port}/mcp`;
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-strangers-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { issuer, token, close } = await startIssuer();
  const url = await startServer(issuer, folder);
  const agent = new Agent({ keepAlive: true });
  const message = { method: 'tools/call', params: { name: 'list_parts', arguments: upload } };
  const call = () => post(url, agent, token, message);
  await call();
  const strangers = new Worker(new URL(import.meta.url), { workerData: { url, loops: Number(options.loops) } });
  await delay(warmMs);
  const times = [];
  const statuses = {};
  for (let count = 0; count < Number(options.calls); count += 1) {
    const start = performance.now();
    const status = await call();
    times.push(performance.now() - start);
    statuses[status] = (statuses[status] ?? 0) + 1;
    await delay(pauseMs);
  }
  await strangers.terminate();
  close();
  const sorted = times.toSorted((a, b) => a - b);
  const within = (share) => Math.round(sorted[Math.ceil(share * sorted.length) - 1]);
  console.log(
    `answers: ${JSON.stringify(statuses)}; half of them within ${within(0.5)} ms, 95 % within ${within(0.95)} ms`,
  );
  return within(0.95) <= goalMs && statuses[200] === times.length;
}

if (isMainThread) process.exit((await main()) ? 0 : 1);
else await flood(workerData);
