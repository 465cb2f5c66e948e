import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Finding as TypedFinding } from '../../src/cli/check-accounts.js';
import { makeCertificate } from '../support/certificates.js';
import { type CapturedRequest, type CapturingServer, startServer } from '../support/http-server.js';
import { isAlive } from '../support/is-alive.js';
import { startRecoveringPostgres } from '../support/recovering-postgres.js';
import { startScripted } from '../support/scripted-server.js';
import { cleanEnv, runServer, serverPath } from '../support/server-process.js';
import { leaveBegun, storedChanges, writeChanges } from '../support/stored-changes.js';

/** A finding as `--json` prints it. */
type Finding = Pick<TypedFinding, 'check' | 'status'> & { readonly detail: string; readonly remedy?: string };

const folder = mkdtempSync(join(tmpdir(), 'cloudops-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));

const keys = { CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST', CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER', CLOUDOPS_MAX_ATTEMPTS: '1' };
const proxyless = { HTTPS_PROXY: '', https_proxy: '', HTTP_PROXY: '', http_proxy: '', NO_PROXY: '', no_proxy: '' };

/** The findings of the doctor, by check. None shows a secret. */
async function examine(env: Record<string, string>, ...args: string[]) {
  const run = await runServer(['doctor', '--json', ...args], {
    env: { ...proxyless, NODE_EXTRA_CA_CERTS: '', NODE_TLS_REJECT_UNAUTHORIZED: '', ...env },
  });
  expect(run.stdout + run.stderr).not.toContain('MARKER');
  const findings: Finding[] = JSON.parse(run.stdout);
  expect(run.code).toBe(codeOf(findings));
  for (const { status, remedy } of findings) expect(remedy === undefined).toBe(status === 'ok');
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  return { findings, of, code: run.code };
}

const apis = /\b(storage|catalog|devops|tables|keys)\b/;

/** 1 with a problem, 3 if no API was checked. */
function codeOf(findings: readonly Finding[]): number {
  if (findings.some(({ status }) => status === 'problem')) return 1;
  return findings.some(({ check, status }) => apis.test(check) && status !== 'not checked') ? 0 : 3;
}

const servers: CapturingServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** An object storage that answers what is signed as told, and refuses everything else. */
async function storage(respond: (response: ServerResponse, request: CapturedRequest) => void) {
  const server = await startServer((request, response) => {
    if (request.headers.authorization === undefined) response.writeHead(403).end();
    else respond(response, request);
  });
  servers.push(server);
  return { server, env: { ...keys, CLOUDOPS_STORAGE_URL: server.origin } };
}

const error = (code: string) => `<Error><Code>${code}</Code><Message>m</Message></Error>`;

describe('on the sandbox', () => {
  test('everything is in order', async () => {
    const { findings, of } = await examine({}, '--sandbox');
    expect(findings.filter(({ status }) => status !== 'ok').map(({ check, status }) => `${check}: ${status}`)).toEqual([
      'catalog signature: not checked',
      'devops signature: not checked',
    ]);
    expect(of('storage signature')).toMatchObject([{ detail: expect.stringContaining('accepted (NoSuchBucket') }]);
  });

  test('people read one line for each check, with the remedy beneath', async () => {
    const run = await runServer(['doctor', '--sandbox']);
    expect(run.stdout).toMatch(/^ok {11}storage clock +in step with this machine$/m);
    expect(run.stdout).toMatch(/^not checked {2}devops signature +no tool .*\n +→ The first call shows it/m);
    expect(run.stdout).toMatch(/\nproblems: 0, warnings: 0, not checked: 2\n$/);
    expect(run.stdout).not.toContain('\x1b');
    expect(run.code).toBe(0);
  });
});

describe('the configuration', () => {
  test('its problems are lines like all others', async () => {
    const { of, code } = await examine({
      CLOUDOPS_REGOIN: 'x',
      CLOUDOPS_TIMEOUT_MS: 'soon',
      CLOUDOPS_SECRET_ACCESS_KEY: '__encrypted__:MARKER',
    });
    expect(of('configuration').map(({ detail }) => detail)).toEqual([
      expect.stringContaining('CLOUDOPS_REGOIN is not a setting'),
      expect.stringContaining('CLOUDOPS_SECRET_ACCESS_KEY is a placeholder or an encrypted value'),
      expect.stringContaining('CLOUDOPS_TIMEOUT_MS is "soon"'),
    ]);
    expect(code).toBe(1);
  });

  test('what is set is shown, secrets by name only', async () => {
    const command = '["/usr/bin/vault", "--token=MARKER"]';
    const env = { CLOUDOPS_STATE_KEY: 'MARKER'.repeat(6), CLOUDOPS_CREDENTIAL_PROCESS: command };
    const { of } = await examine(env, '--sandbox', 'CLOUDOPS_REGION=jp-west-2');
    expect(of('configuration').map(({ detail }) => detail)).toEqual(
      expect.arrayContaining([
        'CLOUDOPS_STATE_KEY: set, not shown',
        'CLOUDOPS_REGION: "jp-west-2"',
        'CLOUDOPS_CREDENTIAL_PROCESS: set, not shown',
      ]),
    );
  });

  test.each([
    [
      'names a file that is not there',
      { CLOUDOPS_SECRET_ACCESS_KEY_FILE: '/nowhere' },
      'there is no such file). Change or unset it',
    ],
    ['names a folder', { CLOUDOPS_SECRET_ACCESS_KEY_FILE: folder }, 'it is a folder). Change or unset it'],
    ['names a profile that is not there', { CLOUDOPS_PROFILE: 'nobody' }, 'Add the profile there'],
    ['names a program that is not there', { CLOUDOPS_CREDENTIAL_PROCESS: '["/nowhere"]' }, 'Run the program by hand'],
  ])('that %s has a remedy that says what to do', async (_what, env, remedy) => {
    const { findings } = await examine({ CLOUDOPS_STORAGE_URL: 'https://storage.test.invalid', ...env });
    const found = findings.find(({ status }) => status === 'problem');
    expect(`${found?.detail} ${found?.remedy}`).toContain(remedy);
  });

  test('that leaves nothing to check has an exit code of its own, and says so', async () => {
    const run = await runServer(['doctor'], { env: proxyless });
    expect(run.stdout).toMatch(/^not checked {2}storage/m);
    expect(run.stdout).toMatch(
      /^not checked {2}configuration +nothing is configured\n +→ Set the address of an API and a key/m,
    );
    expect(run.stdout).toContain('\nNo API was checked, because none is set up.');
    expect(run.code).toBe(3);
  });

  test('an endpoint without keys is a problem, and built-in APIs without an endpoint are left out beside it', async () => {
    const { of } = await examine({ CLOUDOPS_STORAGE_URL: 'https://storage.test.invalid' });
    expect(of('storage')).toMatchObject([
      { status: 'problem', detail: 'not set: CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY' },
    ]);
    expect(of('devops')).toEqual([]);
  });

  test('without any endpoint, each API that has a tool on offer says what it needs', async () => {
    expect((await examine({})).of('devops')).toMatchObject([
      { status: 'not checked', remedy: expect.stringContaining('restore_instance') },
    ]);
    expect((await examine({}, 'CLOUDOPS_READ_ONLY=1')).of('devops')).toEqual([]);
  });
});

test('an API that the sandbox does not have is not checked, and no setting of its endpoint is asked for', async () => {
  const { of } = await examine(
    { CLOUDOPS_OPERATIONS: resolve('test/fixtures/models/tables.operations.json') },
    '--sandbox',
  );
  expect(of('tables')).toMatchObject([
    {
      status: 'not checked',
      detail: 'the built-in sandbox does not have this API',
      remedy: expect.stringMatching(/^Unset CLOUDOPS_SANDBOX to call .*list_tables/),
    },
  ]);
});

test('an API whose reads have no call to try is not checked, and the first read shows its signature', async () => {
  const service = await startServer((_request, response) => response.end('{}'));
  const { of } = await examine({
    CLOUDOPS_OPERATIONS: resolve('test/fixtures/models/tables.operations.json'),
    CLOUDOPS_ENDPOINT_TABLES_URL: service.origin,
    ...keys,
  });
  await service.close();
  expect(of('tables signature')).toMatchObject([
    {
      status: 'not checked',
      detail: 'no tool of this API can be tried without a change or made-up names',
      remedy: expect.stringContaining('list_tables'),
    },
  ]);
});

test('a whole service is checked by its model and its endpoint, and built-in APIs without one are left out', async () => {
  const service = await startServer((_request, response) => response.end('{}'));
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-doctor-'));
  copyFileSync('test/fixtures/models/tables-model.json', join(folder, 'tables.json'));
  // Smaller files are not taken for models.
  writeFileSync(join(folder, 'broken.json'), JSON.stringify({ smithy: '2.0', shapes: 'x'.repeat(200) }));
  const endpoint = { CLOUDOPS_ENDPOINT_TABLES_URL: service.origin, CLOUDOPS_ENDPOINT_BROKEN_URL: service.origin };
  const { of } = await examine({ CLOUDOPS_MODELS: folder, ...endpoint, ...keys });
  await service.close();
  rmSync(folder, { recursive: true });
  expect(of('tables')).toMatchObject([{ status: 'ok', detail: expect.stringContaining('answers') }]);
  expect(of('broken')).toMatchObject([{ status: 'problem', detail: expect.stringContaining('broken.json') }]);
  expect(of('storage')).toEqual([]);
});

test('certificates that nobody checks are a warning, here and in the log of a server', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  expect((await examine(env, '--sandbox')).of('TLS')).toMatchObject([{ status: 'warning' }]);
  expect((await examine({}, '--sandbox')).of('TLS')).toEqual([]);
  const { stderr } = await runServer(['--sandbox'], { env });
  expect(stderr).toMatch(/"level":"warn","event":"insecure TLS","message":"NODE_TLS_REJECT_UNAUTHORIZED=0 /);
});

test('an account that the sandbox hides is a warning', async () => {
  const { of } = await examine({ CLOUDOPS_STORAGE_URL: 'https://storage.test.invalid' }, '--sandbox');
  expect(of('configuration').at(-1)).toMatchObject({
    status: 'warning',
    detail: 'the sandbox is in use; ignored: CLOUDOPS_STORAGE_URL',
  });
});

describe('the signed read', () => {
  test.each<[number, string, Finding['status'], string]>([
    [404, 'NoSuchUpload', 'ok', ''],
    [404, 'NoSuchBucket', 'ok', ''],
    [404, 'NoSuchKey', 'ok', ''],
    [403, 'SignatureDoesNotMatch', 'problem', 'CLOUDOPS_SECRET_ACCESS_KEY'],
    [403, 'InvalidAccessKeyId', 'problem', 'CLOUDOPS_ACCESS_KEY_ID'],
    [403, 'AccessDenied', 'problem', 'Or name a bucket that you can read with --bucket.'],
    [403, 'RequestTimeTooSkewed', 'problem', 'clock'],
    [400, 'AuthorizationHeaderMalformed', 'problem', 'CLOUDOPS_REGION'],
    [503, 'SlowDown', 'problem', 'Try again'],
  ])('%i %s is %s', async (status, code, expected, remedy) => {
    const { env } = await storage((response) => response.writeHead(status).end(error(code)));
    const [finding] = (await examine(env)).of('storage signature');
    expect(finding).toMatchObject({ status: expected, detail: expect.stringContaining(code) });
    expect(finding?.remedy ?? '').toContain(remedy);
  });

  test.each<[string, Record<string, string>, string]>([
    [
      'files',
      { CLOUDOPS_ACCESS_KEY_ID_FILE: '', CLOUDOPS_SECRET_ACCESS_KEY_FILE: '' },
      'CLOUDOPS_ACCESS_KEY_ID_FILE, CLOUDOPS_SECRET_ACCESS_KEY_FILE',
    ],
    ['a program', { CLOUDOPS_CREDENTIAL_PROCESS: '' }, 'CLOUDOPS_CREDENTIAL_PROCESS'],
  ])(
    'names the settings that have the keys, if they come from %s, and the endpoint',
    async (_where, settings, named) => {
      const key = join(folder, 'key');
      writeFileSync(key, 'AKIDTEST');
      const printed = JSON.stringify({ Version: 1, AccessKeyId: 'AKIDTEST', SecretAccessKey: 'MARKER' });
      const program = JSON.stringify([process.execPath, '-e', `console.log(${JSON.stringify(printed)})`]);
      const values = Object.keys(settings).map((name) => [name, name.endsWith('_FILE') ? key : program]);
      const { server } = await storage((response) => response.writeHead(403).end(error('SignatureDoesNotMatch')));
      const env = { ...Object.fromEntries(values), CLOUDOPS_STORAGE_URL: server.origin, CLOUDOPS_MAX_ATTEMPTS: '1' };
      const [finding] = (await examine(env)).of('storage signature');
      expect(finding?.remedy).toContain(`Check ${named}, the region and CLOUDOPS_STORAGE_SERVICE.`);
      await server.close();
      servers.pop();
      const [refused] = (await examine(env)).of('storage');
      expect(refused?.remedy).toContain('Check the endpoint and its port (CLOUDOPS_STORAGE_URL)');
    },
  );

  test('a bucket that was named and does not exist is a problem', async () => {
    const { env } = await storage((response) => response.writeHead(404).end(error('NoSuchBucket')));
    const [finding] = (await examine(env, '--bucket', 'mine')).of('storage signature');
    expect(finding).toMatchObject({ status: 'problem', detail: 'accepted, but there is no bucket "mine" here' });
  });

  test.each([
    ['ext', 'x-amz-date', 'amz'],
    ['amz', 'x-ext-date', 'ext'],
  ])('with %s headers, on a store that reads %s', async (configured, header, remedy) => {
    const { env } = await storage((response, request) => {
      const isRead = header in request.headers;
      response.writeHead(isRead ? 404 : 403).end(error(isRead ? 'NoSuchBucket' : 'AccessDenied'));
    });
    const { of } = await examine({ ...env, CLOUDOPS_STORAGE_HEADERS: configured });
    expect(of('storage signature')).toMatchObject([
      { status: 'problem', remedy: `Set CLOUDOPS_STORAGE_HEADERS=${remedy}.` },
    ]);
  });

  test('on a store that takes the bucket only in the host', async () => {
    const { env } = await storage((response, { headers }) => {
      const isInHost = headers.host?.startsWith('mine.localhost:') === true;
      response.writeHead(isInHost ? 404 : 403).end(error(isInHost ? 'NoSuchUpload' : 'SecondLevelDomainForbidden'));
    });
    const byName = { ...env, CLOUDOPS_STORAGE_URL: env.CLOUDOPS_STORAGE_URL.replace('127.0.0.1', 'localhost') };
    const { of } = await examine(byName, '--bucket', 'mine');
    expect(of('storage signature')).toMatchObject([
      { status: 'problem', remedy: 'Set CLOUDOPS_STORAGE_STYLE=virtual.' },
    ]);
    const virtual = await examine({ ...byName, CLOUDOPS_STORAGE_STYLE: 'virtual' }, '--bucket', 'mine');
    expect(virtual.of('storage signature')).toMatchObject([{ status: 'ok' }]);
  });

  test('with the other headers asks for the bucket that is named, because a key may be for this bucket only', async () => {
    const { env } = await storage((response, request) => {
      const isAllowed = 'x-amz-date' in request.headers && request.url?.startsWith('/mine/');
      response.writeHead(isAllowed ? 404 : 403).end(error(isAllowed ? 'NoSuchUpload' : 'AccessDenied'));
    });
    const [finding] = (await examine(env, '--bucket', 'mine')).of('storage signature');
    expect(finding?.remedy).toBe('Set CLOUDOPS_STORAGE_HEADERS=amz.');
  });

  test('does not ask for a bucket if one was named', async () => {
    const { env } = await storage((response) => response.writeHead(403).end(error('AccessDenied')));
    const [finding] = (await examine(env, '--bucket', 'mine')).of('storage signature');
    expect(finding?.remedy).not.toContain('--bucket');
  });

  test('says that a bucket has no valid name', async () => {
    const { env } = await storage((response) => response.writeHead(403).end(error('AccessDenied')));
    const [finding] = (await examine(env, '--bucket', 's3://mine')).of('storage signature');
    expect(finding).toMatchObject({ status: 'problem', detail: expect.stringContaining('bucket') });
  });

  test('asks for the bucket that is named, and nothing but reads goes to nobody but the endpoint', async () => {
    const { server, env } = await storage((response) => response.writeHead(404).end(error('NoSuchUpload')));
    await examine(env, '--bucket', 'mine');
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /',
      'GET /mine/cloudops-doctor?max-parts=1&uploadId=cloudops-doctor',
    ]);
  });
});

describe('clocks', () => {
  const minute = 60_000;
  test.each<[string, number, Finding['status'], RegExp]>([
    ['the same', 0, 'ok', /^in step|^this machine is \d s ahead/],
    ['half a minute', -30_500, 'ok', /3\d s ahead/],
    ['five minutes', -5 * minute, 'warning', /5 min ahead/],
    ['twenty minutes', 20 * minute, 'problem', /20 min behind/],
  ])('%s apart', async (_name, offset, status, detail) => {
    const server = await startServer((_request, response) => {
      response.setHeader('date', new Date(Date.now() + offset).toUTCString());
      response.writeHead(404).end(error('NoSuchUpload'));
    });
    servers.push(server);
    const { of } = await examine({ ...keys, CLOUDOPS_STORAGE_URL: server.origin });
    expect(of('storage clock')).toMatchObject([{ status, detail: expect.stringMatching(detail) }]);
  });

  test('an endpoint that does not tell its time', async () => {
    const server = await startServer((_request, response) => {
      response.sendDate = false;
      response.end();
    });
    servers.push(server);
    const { of } = await examine({ ...keys, CLOUDOPS_DEVOPS_URL: server.origin });
    expect(of('devops clock')).toMatchObject([{ status: 'warning' }]);
  });
});

describe('the way to an endpoint', () => {
  const host = 'storage.test.invalid';
  const certificate = makeCertificate(host, '127.0.0.1');
  const secure = createHttpsServer(certificate, (_request, response) =>
    response.writeHead(404).end(error('NoSuchUpload')),
  );
  /** Knows only how to tunnel, and takes every name for this machine. */
  const proxy = createHttpServer().on('connect', (_request, socket) => {
    const target = connect(portOf(secure), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    for (const end of [target, socket]) end.on('error', () => end.destroy());
  });
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  beforeAll(async () => {
    for (const server of [secure, proxy]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  });
  afterAll(() => {
    secure.closeAllConnections();
    for (const server of [secure, proxy]) server.close();
    certificate.remove();
  });
  const trusting = { NODE_EXTRA_CA_CERTS: certificate.authority };

  test('an endpoint whose authority is named answers', async () => {
    const env = { ...keys, ...trusting, CLOUDOPS_STORAGE_URL: `https://127.0.0.1:${portOf(secure)}` };
    const { of } = await examine(env);
    expect(of('storage')).toMatchObject([{ status: 'ok', detail: expect.stringMatching(/^https:.* answers$/) }]);
    expect(of('storage signature')).toMatchObject([{ status: 'ok' }]);
  });

  test('one that is not trusted is a problem, and nothing signed is sent', async () => {
    const { of } = await examine({ ...keys, CLOUDOPS_STORAGE_URL: `https://127.0.0.1:${portOf(secure)}` });
    expect(of('storage')).toMatchObject([
      { status: 'problem', remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS') },
    ]);
    expect(of('storage signature')).toEqual([]);
  });

  test('a proxy is named, without its password', async () => {
    const address = `127.0.0.1:${portOf(proxy)}`;
    const env = {
      ...keys,
      ...trusting,
      HTTPS_PROXY: `http://user:MARKER@${address}`,
      CLOUDOPS_STORAGE_URL: `https://${host}`,
    };
    const { of } = await examine(env);
    expect(of('storage')).toMatchObject([
      { status: 'ok', detail: `https://${host} answers through the proxy ${address}` },
    ]);
  });

  test('a proxy that is not there is a problem', async () => {
    const env = { ...keys, HTTPS_PROXY: 'http://127.0.0.1:1', CLOUDOPS_STORAGE_URL: `https://${host}` };
    const { of } = await examine(env);
    expect(of('storage')).toMatchObject([{ status: 'problem', detail: expect.stringContaining('proxy 127.0.0.1:1') }]);
  });

  test('an endpoint where nothing listens, or something that does not speak HTTP, is a problem', async () => {
    const scripted = await startScripted((socket) => socket.end('SSH-2.0-x\r\n'));
    const env = { ...keys, CLOUDOPS_STORAGE_URL: 'http://127.0.0.1:1', CLOUDOPS_DEVOPS_URL: scripted.origin };
    const { of } = await examine(env);
    expect(of('storage')).toMatchObject([
      { status: 'problem', detail: expect.stringContaining('the connection was refused') },
    ]);
    expect(of('devops')).toMatchObject([{ status: 'problem', detail: expect.stringContaining('not proper HTTP') }]);
    await scripted.close();
  });
});

describe('files', () => {
  test('changes without a known outcome are reported, and left for the next server to resolve', async () => {
    const journal = join(folder, 'journal.db');
    await leaveBegun(journal);
    const { of } = await examine({ CLOUDOPS_JOURNAL: journal }, '--sandbox');
    expect(of('journal')).toMatchObject([
      { status: 'warning', detail: expect.stringContaining('1 change, 1 without') },
    ]);
    expect(await storedChanges(journal)).toMatchObject([{ state: 'begun' }]);
  });

  test('all changes are counted', async () => {
    const journal = join(folder, 'twelve.db');
    const at = new Date('2026-11-20T12:00:00Z');
    await writeChanges(
      journal,
      Array.from({ length: 12 }, () => ({ at, end: { state: 'accepted' } as const })),
    );
    const { of } = await examine({ CLOUDOPS_JOURNAL: journal }, '--sandbox');
    expect(of('journal')).toMatchObject([{ status: 'ok', detail: expect.stringContaining('12 changes, 0 without') }]);
  });

  test('a database that refuses connections is not told to be made writable', async () => {
    const { of } = await examine({ CLOUDOPS_JOURNAL: 'postgres://u:MARKER@127.0.0.1:1/d' });
    expect(of('journal')).toMatchObject([
      {
        status: 'problem',
        detail: expect.stringContaining('ECONNREFUSED'),
        remedy: expect.stringContaining('Check that the database runs'),
      },
    ]);
  });

  test('a database whose address is in a file is named by that setting', async () => {
    const address = join(folder, 'address');
    writeFileSync(address, 'postgres://u:MARKER@127.0.0.1:1/d');
    const { of } = await examine({ CLOUDOPS_JOURNAL_FILE: address });
    expect(of('journal')).toMatchObject([
      { status: 'problem', remedy: expect.stringContaining('CLOUDOPS_JOURNAL_FILE') },
    ]);
    expect(of('journal')[0]?.remedy).not.toMatch(/CLOUDOPS_JOURNAL\b/);
  });

  test('a database that is starting up is waited for, and no right or name is doubted', async () => {
    const database = await startRecoveringPostgres('postgres://u:MARKER@127.0.0.1:1/d');
    const { of } = await examine({ CLOUDOPS_JOURNAL: database.address });
    expect(of('journal')).toMatchObject([
      {
        status: 'problem',
        detail: expect.stringContaining('57P03'),
        remedy: expect.stringContaining('starting or going down'),
      },
    ]);
    database.close();
  });

  test('an issuer is tried, and its fault named', async () => {
    const server = await startServer((_request, response) => response.writeHead(500).end());
    servers.push(server);
    const { of } = await examine({ CLOUDOPS_HTTP_ISSUER: server.origin, CLOUDOPS_HTTP_AUDIENCE: 'a' }, '--sandbox');
    expect(of('issuer')).toMatchObject([{ status: 'problem', detail: expect.stringContaining('HTTP status 500') }]);
  });

  test.each([
    [['pairwise'], undefined, 'warning'],
    [['pairwise'], 'sub', 'warning'],
    [['pairwise'], 'oid', 'ok'],
    [['public', 'pairwise'], undefined, 'ok'],
  ])('an issuer with subjects of the types %j, and people known by the claim %s: %s', async (types, claim, status) => {
    const server = await startServer(({ url }, response) => {
      const { origin } = server;
      const metadata = { issuer: origin, jwks_uri: `${origin}/keys`, subject_types_supported: types };
      response.end(JSON.stringify(url === '/keys' ? { keys: [] } : metadata));
    });
    servers.push(server);
    const settings = { CLOUDOPS_HTTP_ISSUER: server.origin, CLOUDOPS_HTTP_AUDIENCE: 'a' };
    const { of } = await examine({ ...settings, ...(claim && { CLOUDOPS_HTTP_PERSON_CLAIM: claim }) }, '--sandbox');
    expect(of('issuer')).toMatchObject([{ status }]);
  });

  test('a tokens file with which the server does not start is a problem', async () => {
    const tokens = join(folder, 'tokens');
    const examined = async () => (await examine({ CLOUDOPS_HTTP_TOKENS_FILE: tokens }, '--sandbox')).of('HTTP server');
    expect(await examined()).toMatchObject([{ status: 'problem', detail: expect.stringContaining('ENOENT') }]);
    const digest = 'a'.repeat(64);
    writeFileSync(tokens, `alice ${digest}\nbob\ncarol ${'b'.repeat(64)} cloudops:approve cloudops:read\n`);
    expect(await examined()).toMatchObject([
      { status: 'problem', detail: 'Line 2 of the tokens file has no SHA-256 in hex after the name.' },
      { status: 'problem', detail: expect.stringMatching(/^Line 3 of the tokens file gives cloudops:approve/) },
    ]);
    writeFileSync(tokens, `alice ${digest}\n`);
    expect(await examined()).toMatchObject([{ status: 'ok' }]);
  });

  test('a journal that cannot be written is a problem', async () => {
    const { of } = await examine({ CLOUDOPS_JOURNAL: '/dev/null/journal' });
    expect(of('journal')).toMatchObject([{ status: 'problem', remedy: expect.stringContaining('CLOUDOPS_JOURNAL') }]);
  });

  test('secrets: how many there are, who may see them, whether there are any', async () => {
    const secrets = join(folder, 'secrets');
    mkdirSync(secrets, { mode: 0o700 });
    writeFileSync(join(secrets, 'gcp-key'), 'MARKER');
    const looked = async () => (await examine({ CLOUDOPS_SECRETS_DIR: secrets })).of('secrets');
    expect(await looked()).toMatchObject([{ status: 'ok', detail: expect.stringContaining('1 names') }]);
    chmodSync(secrets, 0o755);
    expect(await looked()).toMatchObject([{ status: 'warning', detail: expect.stringContaining('others') }]);
    rmSync(secrets, { recursive: true });
    expect(await looked()).toMatchObject([{ status: 'problem', detail: expect.stringContaining('ENOENT') }]);
  });
});

test('Ctrl-C ends it at once, and the program that it asks for keys', async () => {
  const pidFile = join(folder, 'pid');
  const code = 'require("node:fs").writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)';
  const env = cleanEnv({ CLOUDOPS_CREDENTIAL_PROCESS: JSON.stringify([process.execPath, '-e', code, pidFile]) });
  const doctor = spawn(process.execPath, [serverPath, 'doctor'], { env, stdio: 'ignore' });
  const ended = once(doctor, 'exit');
  await expect.poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8')).toBeTruthy();
  doctor.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  await expect.poll(() => isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
});
