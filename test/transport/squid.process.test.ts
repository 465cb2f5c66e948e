import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createHttpClient } from '../../src/transport/http-client.js';
import { freePort } from '../support/free-port.js';
import { portOf } from '../support/tunnel-proxy.js';

/** Requests through Squid as Debian installs it: plain HTTP in absolute form, tunnels only to port 443, and a password. */

const squid = '/usr/sbin/squid';
const host = 'store.internal.example';
const secret = 'p@ss:w/rd%';

const missing = 'Squid is not installed: apt-get install -y --no-install-recommends squid';

/** On CI, the tests must run. */
function hasSquid(): boolean {
  const isThere = existsSync(squid);
  if (!isThere && process.env.CI === 'true') throw new Error(missing);
  if (!isThere) process.stderr.write(`Tests are skipped. ${missing}\n`);
  return isThere;
}

describe.skipIf(!hasSquid())(`through ${squid}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-squid-'));
  const file = (name: string) => join(folder, name);
  const store = createHttpServer(({ method, url, headers }, response) => {
    response.end(JSON.stringify({ method, url, host: headers.host, password: headers['proxy-authorization'] }));
  });
  let proxyPort = 0;
  let program: ChildProcess | undefined;

  beforeAll(async () => {
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
    proxyPort = await freePort();
    const hash = execFileSync('openssl', ['passwd', '-apr1', '-stdin'], { input: secret }).toString().trim();
    writeFileSync(file('passwords'), `us er:${hash}\n`);
    writeFileSync(file('hosts'), `127.0.0.1 ${host}\n`);
    writeFileSync(
      file('squid.conf'),
      `http_port 127.0.0.1:${proxyPort}
hosts_file ${file('hosts')}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${file('passwords')}
acl user proxy_auth REQUIRED
acl tunnels port 443
acl CONNECT method CONNECT
http_access deny CONNECT !tunnels
http_access allow user
http_access deny all
pid_filename none
access_log none
cache_log /dev/null
cache deny all
shutdown_lifetime 1 seconds
`,
    );
    // Squid gives up the rights of root, and reads its files again afterwards.
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    program = spawn(squid, ['-N', '-n', `cloudops${proxyPort}`, '-f', file('squid.conf')], { stdio: 'ignore' });
    await vi.waitFor(() => connected(proxyPort));
  });
  afterAll(async () => {
    program?.kill();
    if (program !== undefined && program.exitCode === null) await once(program, 'exit');
    store.close();
    rmSync(folder, { recursive: true });
  });

  async function get(origin: string, user: string) {
    const proxy = `http://${user}127.0.0.1:${proxyPort}`;
    const client = createHttpClient({ httpProxy: proxy, httpsProxy: proxy });
    const request = { method: 'GET', origin, path: '/b?uploads', headers: {}, newConnection: true } as const;
    const result = await client.send(request, AbortSignal.timeout(10_000));
    await client.close();
    return result;
  }
  const right = `us%20er:${encodeURIComponent(secret)}@`;

  test('plain HTTP reaches the store, which does not see the password', async () => {
    const result = await get(`http://${host}:${portOf(store)}`, right);
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    const body: unknown = JSON.parse(result.kind === 'response' ? result.body : '');
    expect(body).toEqual({ method: 'GET', url: '/b?uploads', host: `${host}:${portOf(store)}` });
  });

  test.each([
    ['no password', ''],
    ['a wrong password', 'us%20er:other@'],
  ])('with %s, plain HTTP is refused with 407, and a tunnel is not made', async (_what, user) => {
    expect(await get(`http://${host}:${portOf(store)}`, user)).toMatchObject({ kind: 'response', status: 407 });
    expect(await get(`https://${host}`, user)).toMatchObject({
      code: 'ProxyFailed',
      detail: 'it answered with HTTP status 407',
      mayHaveArrived: false,
    });
  });

  test('a tunnel to another port than 443 is refused with 403', async () => {
    expect(await get(`https://${host}:9443`, right)).toMatchObject({
      code: 'ProxyFailed',
      detail: 'it answered with HTTP status 403',
    });
  });
});

const connected = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    }).once('error', reject);
  });
