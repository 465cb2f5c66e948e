import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { callCommand } from '../../src/cli/call-command.js';
import { loadConfig } from '../../src/config/load-config.js';
import { operations } from '../../src/tools/index.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { uploadArguments as upload } from '../support/sandbox.js';
import { cleanEnv, runServer, serverPath } from '../support/server-process.js';
import { leaveBegun, storedChanges } from '../support/stored-changes.js';
import { fakeTerminal } from '../support/terminal.js';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-call-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => join(folder, name);

const restore = { backupId: seededBackupId, instanceId: 'restored' };
const json = (value: unknown) => JSON.stringify(value);

const servers: CapturingServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** An API that answers every request alike, with the settings that lead to it. */
async function api(status: number, body: string) {
  const server = await startServer((_request, response) => response.writeHead(status).end(body));
  servers.push(server);
  return { server, env: envOf(server.origin) };
}

let journals = 0;
/** The keys of nothing, one endpoint for all APIs, and a journal of its own. */
const envOf = (origin: string) => {
  journals += 1;
  return {
    CLOUDOPS_STORAGE_URL: origin,
    CLOUDOPS_DEVOPS_URL: origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER',
    CLOUDOPS_MAX_ATTEMPTS: '1',
    CLOUDOPS_JOURNAL: file(`journal-${journals}`),
  };
};
describe('the exit code tells how it ended', () => {
  test.each<[number, string, string[], RegExp]>([
    [0, 'done', ['list_parts', json(upload)], /^The upload of "backups\/2026\/database\.dump" has 12 parts/],
    [0, 'a plan that was asked for', ['restore_instance', json(restore), '--plan'], /^Plan of restore_instance/],
    [0, 'settings before the tool', ['CLOUDOPS_REGION=jp-east-1', 'list_parts', json(upload)], /has 12 parts/],
    [0, 'a plan, asked for as agents do', ['restore_instance', json({ ...restore, planOnly: true })], /^Plan of /],
    [
      0,
      'a change with --yes',
      ['restore_instance', json({ ...restore, instanceId: 'yes' }), '--yes'],
      /^The cloud accepted [\s\S]*\nconsent: given beforehand with --yes\n/,
    ],
    [1, 'refused by the service', ['list_parts', json({ ...upload, uploadId: 'x' })], /NoSuchUpload/],
    [
      2,
      'arguments that break a rule',
      ['list_parts', '{"bucket":"b","max":1}'],
      /object: is required[\s\S]*max: is not/,
    ],
    [2, 'no arguments', ['list_parts'], /bucket: is required/],
    [2, 'a plan of what only reads', ['list_parts', '{}', '--plan'], /only reads: there is nothing to plan/],
    [2, 'a plan with a list', ['restore_instance', '[]', '--plan'], /arguments have to be a JSON object/],
    [2, 'no tool', [], /Name a tool: list_parts, /],
    [2, 'an unknown tool', ['list_part', '{}'], / list_parts\?/],
    [2, 'not JSON', ['list_parts', '{bucket: MARKER}'], /the argument is not JSON/],
    [2, 'a file that is not there', ['list_parts', '@/nowhere.json'], /cannot be read \(ENOENT\)/],
    [2, 'an unknown option', ['list_parts', json(upload), '--jsn'], /--jsn is not an option/],
    [
      2,
      'a misspelt option and its value',
      ['--sesion-token', 'MARKER', 'list_parts', json(upload)],
      /--sesion-token is not an option/,
    ],
    [2, 'not on offer', ['restore_instance', json(restore), 'CLOUDOPS_READ_ONLY=1'], /\ncode: NotAllowed\n/],
    [3, 'nobody to ask', ['restore_instance', json(restore)], /^Plan of restore_instance\b[\s\S]*\nchangeId: \S/],
    [
      3,
      'nobody to ask, two calls wanted',
      ['restore_instance', json(restore), 'CLOUDOPS_CONFIRM=plan'],
      /changeId: \S/,
    ],
    [
      3,
      '--yes where only a person counts',
      ['restore_instance', json(restore), '--yes', 'CLOUDOPS_CONFIRM=human'],
      /--yes does not/,
    ],
    [1, 'a made-up changeId', ['get_change', json({ changeId: 'x' })], /\ncode: UnknownChange\n/],
  ])('%i: %s', async (code, _name, args, said) => {
    const run = await runServer(['call', '--sandbox', ...args]);
    // Answers and plans on stdout, everything else on stderr.
    const [output, other] =
      code === 0 || /changeId/.test(said.source) ? [run.stdout, run.stderr] : [run.stderr, run.stdout];
    expect(output).toMatch(said);
    expect(other).toMatch(/^(note: .*\n)*$/);
    expect(run.code).toBe(code);
    expect(run.stdout + run.stderr).not.toContain('MARKER');
  });

  test('2: not configured', async () => {
    const run = await runServer(['call', 'list_parts', json(upload)]);
    expect(run).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('CLOUDOPS_STORAGE_URL is not set'),
    });
  });

  test.each([
    [1, 400, '{"code":"Client.InvalidParameterNotFound.Backup","message":"no"}', 'rejected'],
    // The service's word is not taken for one of ours.
    [1, 400, '{"code":"Declined"}', 'rejected'],
    [4, 500, '{"code":"Server.InternalError"}', 'unknown'],
    [4, 200, '<html>sign in</html>', 'unknown'],
  ])('%i: a change that is answered with %i %s is %s', async (code, status, body, outcome) => {
    const { env } = await api(status, body);
    const run = await runServer(['call', 'restore_instance', json(restore), '--yes', '--json'], { env });
    expect(run.code).toBe(code);
    expect(JSON.parse(run.stdout)).toMatchObject({
      ok: false,
      tool: 'restore_instance',
      failure: { status, requestIds: {}, mayHaveHappened: code === 4, next: expect.any(Object) },
    });
    expect(await storedChanges(env.CLOUDOPS_JOURNAL)).toMatchObject([{ decision: { way: 'option' }, state: outcome }]);
  });
});

describe('--json prints one object, whatever happens', () => {
  test.each<[number, string[], object]>([
    [
      0,
      ['list_parts', json(upload)],
      { ok: true, tool: 'list_parts', answer: { answer: { partCount: 12 }, warnings: [] } },
    ],
    [
      3,
      ['restore_instance', json(restore)],
      { ok: false, answer: { outcome: 'planned', changeId: expect.any(String) } },
    ],
    [
      1,
      ['list_parts', json({ ...upload, uploadId: 'x' })],
      { ok: false, failure: { code: 'NoSuchUpload', status: 404 } },
    ],
    [2, ['list_parts', '{}'], { ok: false, failure: { code: 'InvalidArguments', problems: expect.any(Array) } }],
    [2, ['nothing', '{}'], { ok: false, tool: 'nothing', failure: { code: 'Usage' } }],
    [2, ['list_parts', '{}', '--regoin', 'x'], { ok: false, failure: { code: 'Usage' } }],
  ])('%i: %j', async (code, args, object) => {
    const run = await runServer(['call', '--sandbox', ...args, '--json']);
    expect(run.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(run.stdout)).toMatchObject(object);
    expect(run.code).toBe(code);
  });
});

describe('arguments', () => {
  test('come from a file, as editors on Windows write it too', async () => {
    writeFileSync(file('upload.json'), `\uFEFF${json(upload)}\r\n`);
    const run = await runServer(['call', 'list_parts', `@${file('upload.json')}`, '--sandbox']);
    expect(run.stdout).toContain('has 12 parts');
  });

  test('come from stdin', async () => {
    const run = await runServer(['call', 'list_parts', '-', '--sandbox'], { stdin: json(upload) });
    expect(run.stdout).toContain('has 12 parts');
  });

  test('that are not JSON are not shown: they may hold a secret', async () => {
    const run = await runServer(['call', 'list_parts', '-', '--sandbox'], { stdin: 'MARKER' });
    expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('what stdin gave is not JSON') });
    expect(run.stderr).not.toContain('MARKER');
  });
});

test('a plan that nobody was asked about says how to agree to it', async () => {
  const { env } = await api(200, '{}');
  const shared = { ...env, CLOUDOPS_STATE_KEY: 'k'.repeat(32) };
  const note = /^note: nobody was asked, and nothing was sent; --yes agrees beforehand\.$/m;
  const run = await runServer(['call', 'restore_instance', json(restore)], { env: shared });
  expect(run).toMatchObject({ code: 3, stderr: expect.stringMatching(note) });
  const planned = await runServer(['call', 'restore_instance', json(restore), '--plan'], { env: shared });
  expect(planned).toMatchObject({ code: 0, stderr: expect.not.stringMatching(note) });
});

describe('a plan', () => {
  const planned = async (env: Record<string, string>): Promise<string> => {
    const run = await runServer(['call', 'restore_instance', json(restore), '--json'], { env });
    expect(run).toMatchObject({ code: 3, stderr: '' });
    return JSON.parse(run.stdout).answer.changeId;
  };
  const confirm = (changeId: string, thing: string) => ['call', 'confirm_change', json({ changeId, thing })];

  test('is carried out by any process with the same journal, for the thing that it shows, and once', async () => {
    const { server, env } = await api(200, '{"instance":{"instanceId":"restored"}}');
    const changeId = await planned(env);
    expect(server.requests).toEqual([]);
    expect((await runServer(confirm(changeId, 'another'), { env })).code).toBe(3);
    expect((await runServer(confirm(changeId, 'restored'), { env })).code).toBe(0);
    expect((await runServer(confirm(changeId, 'restored'), { env })).code).toBe(0);
    expect(server.requests).toHaveLength(1);
    expect(await storedChanges(env.CLOUDOPS_JOURNAL)).toMatchObject([
      { id: changeId, state: 'accepted', decision: { way: 'confirmed' } },
    ]);
  });

  test('is read and withdrawn by another process', async () => {
    const { env } = await api(200, '{}');
    const changeId = await planned(env);
    const read = await runServer(['call', 'withdraw_change', json({ changeId })], { env });
    expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining('outcome: withdrawn') });
    expect(await storedChanges(env.CLOUDOPS_JOURNAL)).toMatchObject([{ id: changeId, state: 'withdrawn' }]);
  });
});

test('what an earlier process left open is told with the next change, whatever comes of that, and at once to people', async () => {
  const { env } = await api(400, '{"code":"Client.Bad"}');
  await leaveBegun(env.CLOUDOPS_JOURNAL);
  const run = await runServer(['call', 'restore_instance', json(restore), '--yes', '--json'], { env });
  expect(JSON.parse(run.stdout).failure.notes).toEqual([expect.stringContaining('ended without a known outcome')]);
  expect(run.stderr).toBe('warning: an earlier change ended without a known outcome; see cloudops-mcp journal.\n');
});

describe('interrupted', () => {
  test.each([
    ['a change has an unknown outcome', 'restore_instance', restore, 4, 'has an unknown outcome'],
    ['a read has failed', 'list_parts', upload, 1, 'the client cancelled the call'],
  ])('%s', async (_name, tool, args, code, said) => {
    const arrived = vi.fn();
    const server = await startServer(arrived);
    servers.push(server);
    const env = envOf(server.origin);
    const child = spawn(process.execPath, [serverPath, 'call', tool, json(args), '--yes'], { env: cleanEnv(env) });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    await vi.waitUntil(() => arrived.mock.calls.length === 1);
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(code);
    expect(stderr).toContain(said);
    if (code === 4) expect(await storedChanges(env.CLOUDOPS_JOURNAL)).toMatchObject([{ state: 'unknown' }]);
  });

  test('a reader that goes away early is no crash', async () => {
    const child = spawn(process.execPath, [serverPath, 'call', 'list_parts', json(upload), '--sandbox'], {
      env: cleanEnv(),
    });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
    expect(stderr).toBe('');
  });
});

describe('on a terminal', () => {
  /** Runs the command in this process, on a terminal that types when it is asked. */
  async function onTerminal(
    args: readonly string[],
    typed: (stdin: PassThrough) => void,
    env: Record<string, string> = {},
  ) {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const stderr = Object.assign(new PassThrough(), { isTTY: true });
    let shown = '';
    stderr.on('data', (chunk) => {
      shown += chunk;
      if (`${chunk}`.includes('type "yes"')) typed(stdin);
      if (`${chunk}`.includes('Reason')) stdin.write(' too "large"\n');
    });
    const [tool = '', given = ''] = args;
    journals += 1;
    const settings = { CLOUDOPS_JOURNAL: file(`journal-${journals}`), ...env };
    const code = await callCommand.run({
      positionals: [tool, given],
      options: {},
      config: loadConfig({ env: settings, readFile: () => '' }),
      operations,
      operationProblems: [],
      terminal: fakeTerminal({ stdin, stderr }).terminal,
    });
    return { code, shown, journal: settings.CLOUDOPS_JOURNAL };
  }

  test.each<[string, (stdin: PassThrough) => void, number, string]>([
    ['yes', (stdin) => stdin.write('yes\n'), 0, ''],
    ['no', (stdin) => stdin.write('no\n'), 3, 'Reason, for the agent and the journal'],
    ['an empty line', (stdin) => stdin.write('\n'), 3, 'you did not agree to it'],
    ['y', (stdin) => stdin.write('y\n'), 3, 'you did not agree to it'],
    ['nothing and ends the input', (stdin) => stdin.end(), 3, 'you did not agree to it'],
  ])('the plan is shown, and who types %s decides', async (_name, typed, code, said) => {
    const done = await onTerminal(['restore_instance', json(restore)], typed, { CLOUDOPS_SANDBOX: '1' });
    // The last lines stay on a small screen.
    expect(stripVTControlCharacters(done.shown)).toMatch(
      /It is charged[\s\S]*\n\nCreate DevOps server [^?]*\?\nIt costs money\.\nThe built-in sandbox,.*\nTo decline, type no\. To go ahead, type "yes"\n> /,
    );
    expect(done.shown).toContain(said);
    expect(done.code).toBe(code);
    const [change] = await storedChanges(done.journal);
    expect(change).toMatchObject({ state: code === 0 ? 'accepted' : 'declined', decision: { way: 'asked' } });
    const reasons = change?.decision?.reason === undefined ? [] : [change.decision.reason];
    expect(reasons).toEqual(done.shown.includes('Reason') ? ['too "large"'] : []);
  });

  test('a long list shows how far it has been read and why an attempt is repeated, and then clears the line', async () => {
    let requests = 0;
    const server = await startServer(({ url }, response) => {
      requests += 1;
      if (requests === 1) return void response.writeHead(503).end();
      const first = Number(new URL(url, 'http://x').searchParams.get('part-number-marker') ?? 0) + 1;
      response.end(
        `<ListPartsResult><IsTruncated>${first < 4}</IsTruncated><NextPartNumberMarker>${first}</NextPartNumberMarker>` +
          `<Part><PartNumber>${first}</PartNumber><Size>1</Size></Part></ListPartsResult>`,
      );
    });
    servers.push(server);
    const env = { ...envOf(server.origin), CLOUDOPS_MAX_ATTEMPTS: '2' };
    const { code, shown } = await onTerminal(['list_parts', json(upload)], () => undefined, env);
    expect(code).toBe(0);
    expect(shown).toMatch(/list_parts: attempt 2; 503 \(waited \d+ ms\)/);
    expect(shown).toContain('list_parts: 2 entries, page 2');
    expect(shown.endsWith('\r\x1b[K')).toBe(true);
  });
});
