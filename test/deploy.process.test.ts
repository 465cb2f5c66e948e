import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { loadConfig } from '../src/config/load-config.js';
import { createMetrics } from '../src/observe/metrics.js';

/** What the files for containers say is what the server understands, and what docs/DEPLOY.md promises. */

const folder = 'deploy/kubernetes';
const guide = readFileSync('docs/DEPLOY.md', 'utf8');

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const deploymentSchema = z.object({
  spec: z.object({
    replicas: z.int(),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        enableServiceLinks: z.literal(false),
        automountServiceAccountToken: z.literal(false),
        terminationGracePeriodSeconds: z.int(),
        securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.int().min(1) }),
        containers: z.tuple([
          z.object({
            args: z.array(z.string()),
            ports: z.array(z.object({ name: z.string(), containerPort: z.int() })),
            env: z.array(z.object({ name: z.string(), value: z.string() })),
            volumeMounts: z.array(z.object({ mountPath: z.string(), readOnly: z.boolean() })),
            livenessProbe: probe,
            readinessProbe: probe,
            lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.int() }) }) }),
            securityContext: z.object({
              allowPrivilegeEscalation: z.literal(false),
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
            }),
          }),
        ]),
      }),
    }),
  }),
});

describe('the manifests for Kubernetes', () => {
  const read = (file: string): unknown => parse(readFileSync(join(folder, file), 'utf8'));
  const deployment = () => deploymentSchema.parse(read('deployment.yaml')).spec;
  const settings = () => z.object({ data: z.record(z.string(), z.string()) }).parse(read('settings.yaml')).data;
  const container = () => deployment().template.spec.containers[0];

  test('all are named by the kustomization', () => {
    const { resources } = z.object({ resources: z.array(z.string()) }).parse(read('kustomization.yaml'));
    expect([...resources, 'kustomization.yaml'].sort()).toEqual(readdirSync(folder).sort());
  });

  test('every setting is one, and every secret is a file of the secret that the guide makes', () => {
    const { env, volumeMounts } = container();
    const files: string[] = [];
    const loaded = loadConfig({
      env: { ...settings(), ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },

      readFile: (path) => {
        files.push(path);
        return path.endsWith('journal') ? 'postgres://u@db.example.com/d' : 'k'.repeat(48);
      },
    });
    expect(loaded.ok ? [] : loaded.problems).toEqual([]);
    for (const { name, value } of env) {
      expect(name).toMatch(/_FILE$/);
      expect(dirname(value)).toBe(volumeMounts[0]?.mountPath);
      expect(guide).toContain(`--from-file=${basename(value)}`);
    }
    expect(files).toContain('/run/cloudops/journal');
  });

  test('ports and paths are those that the server listens on', () => {
    const { args, ports, livenessProbe, readinessProbe } = container();
    expect(args).toEqual(['http', '--host', '0.0.0.0', '--port', '8080']);
    const metrics = Number(settings().CLOUDOPS_HTTP_METRICS_PORT?.split(':').at(-1));
    expect(ports.map(({ name, containerPort }) => [name, containerPort])).toEqual([
      ['http', 8080],
      ['metrics', metrics],
    ]);
    expect([livenessProbe.httpGet, readinessProbe.httpGet]).toEqual([
      { path: '/healthz', port: 'metrics' },
      { path: '/readyz', port: 'metrics' },
    ]);
    expect(readFileSync('src/cli/http-command.ts', 'utf8')).toContain('const graceMs = 30_000;');
    const { terminationGracePeriodSeconds } = deployment().template.spec;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(container().lifecycle.preStop.sleep.seconds + 30);
  });

  test('the names that the service has in the cluster are allowed', () => {
    const { namespace } = z.object({ namespace: z.string() }).parse(read('kustomization.yaml'));
    const { name } = z.object({ metadata: z.object({ name: z.string() }) }).parse(read('service.yaml')).metadata;
    const own = ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map(
      (rest) => name + rest,
    );
    expect(settings().CLOUDOPS_HTTP_ALLOWED_HOSTS?.split(',')).toEqual(expect.arrayContaining(own));
    expect(guide).toContain(`kubectl create namespace ${namespace}`);
  });

  test('the service and the disruption budget are for these pods', () => {
    const { labels } = deployment().template.metadata;
    expect(read('service.yaml')).toMatchObject({ spec: { selector: labels, ports: [{ targetPort: 'http' }] } });
    expect(read('disruption.yaml')).toMatchObject({ spec: { maxUnavailable: 1, selector: { matchLabels: labels } } });
    expect(deployment().replicas).toBeGreaterThan(1);
  });
});

const hardened = {
  read_only: z.literal(true),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  secrets: z.array(z.string()),
  networks: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  healthcheck: z.object({ test: z.array(z.string()) }),
};
const composeSchema = z.object({
  services: z.strictObject({
    server: z.looseObject({
      ...hardened,
      build: z.string(),
      cap_drop: z.tuple([z.literal('ALL')]),
      ports: z.array(z.string()),
      depends_on: z.object({ database: z.object({ condition: z.literal('service_healthy') }) }),
      stop_grace_period: z.string().regex(/^\d+s$/),
    }),
    database: z.looseObject({ ...hardened, image: z.string() }),
  }),
  networks: z.record(z.string(), z.object({ internal: z.boolean() }).nullable()),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

describe('the compose file', () => {
  const path = 'deploy/compose/compose.yaml';
  const compose = composeSchema.parse(parse(readFileSync(path, 'utf8')));
  const { server, database } = compose.services;

  test('has settings that the server knows, and secrets only in files that it mounts', () => {
    const address = 'postgres://cloudops:x@database:5432/cloudops';
    const files: string[] = [];
    const readSecret = (file: string) => {
      files.push(file);
      if (file.endsWith('journal')) return address;
      return file.endsWith('http-tokens') ? `alice ${'0'.repeat(64)}` : 'k'.repeat(48);
    };
    const loaded = loadConfig({ env: server.environment, readFile: readSecret });
    expect(loaded.ok ? [] : loaded.problems).toEqual([]);
    const mounted = (secrets: readonly string[]) => secrets.map((name) => `/run/secrets/${name}`);
    const named = Object.entries(server.environment).filter(([name]) => name.endsWith('_FILE'));
    expect(named.map(([, file]) => file).sort()).toEqual(mounted(server.secrets).sort());
    expect(files).toContain('/run/secrets/journal');
    expect(mounted(database.secrets)).toEqual([database.environment.POSTGRES_PASSWORD_FILE]);
    for (const [name, { file }] of Object.entries(compose.secrets)) expect(file).toBe(`secrets/${name}`);
    expect(Object.keys(compose.secrets).sort()).toEqual([...server.secrets, ...database.secrets].sort());
    // The address of the journal is in a comment, because it contains the password.
    const { username, hostname, pathname } = new URL(address);
    expect(readFileSync(path, 'utf8')).toContain(`${username}:<that password>@${hostname}:5432${pathname}\n`);
    expect(compose.services).toHaveProperty(hostname);
    expect(database.environment).toMatchObject({ POSTGRES_USER: username, POSTGRES_DB: pathname.slice(1) });
  });

  test('is reached by a proxy on the same machine, and its database by the server alone', () => {
    expect(server.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(database).not.toHaveProperty('ports');
    const [shared = '', ...others] = database.networks;
    expect(others).toEqual([]);
    expect(server.networks).toContain(shared);
    expect(compose.networks[shared]).toEqual({ internal: true });
  });

  test('builds the image of this folder, asks for its health as the image does, and waits for running calls', () => {
    const [, check = ''] = /^ {2}CMD (\["node", .*"health"\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(server.healthcheck.test).toEqual(['CMD', ...z.array(z.string()).parse(JSON.parse(check))]);
    expect(existsSync(join(dirname(path), server.build, 'Dockerfile'))).toBe(true);
    expect(Number.parseInt(server.stop_grace_period, 10)).toBeGreaterThan(30);
    expect(guide).toContain(path);
  });
});

/** CI brings it along; it is a program of Prometheus. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) process.stderr.write('Alert rules are tried without promtool, which is not installed.\n');

describe('the alert rules for Prometheus', () => {
  const rulesFile = 'deploy/prometheus/alerts.yaml';
  const rule = z.object({
    alert: z.string(),
    expr: z.string(),
    labels: z.object({ severity: z.enum(['critical', 'warning']) }),
    annotations: z.object({ summary: z.string() }),
  });
  const file = z.object({ groups: z.array(z.object({ rules: z.array(rule) })) });
  const rules = () => file.parse(parse(readFileSync(rulesFile, 'utf8'))).groups.flatMap(({ rules }) => rules);
  const state = {
    concurrentCalls: () => 0,
    journalReachable: () => true,
    unwrittenOutcomes: () => 0,
    interruptedChanges: () => new Map(),
    issuerReachable: () => true,
    authenticationReady: () => true,
    waitingQuestions: () => 0,
    waitingPlans: undefined,
  };

  test('use metrics that there are', async () => {
    const text = await createMetrics(state).text();
    const used = new Set(rules().flatMap(({ expr }) => expr.match(/cloudops_\w+/g) ?? []));
    expect(used.size).toBeGreaterThan(3);
    for (const name of used) expect(text).toContain(`# TYPE ${name} `);
  });

  describe.skipIf(!hasPromtool)('by the reading of Prometheus', () => {
    const promtool = (what: string, path: string) => spawnSync('promtool', [what, 'rules', path], { encoding: 'utf8' });

    test('are right', () => {
      expect(promtool('check', rulesFile).stdout).toContain(`SUCCESS: ${rules().length} rules found`);
    });

    /** What a server shows for twenty minutes, a value each minute, and the alert that follows. */
    const unknown = (values: string) => ({ 'cloudops_calls_total{tool="restore_instance",outcome="unknown"}': values });
    const situations: [string, Record<string, string>, string, string | undefined][] = [
      [
        'the journal cannot be written',
        { 'cloudops_journal_reachable{instance="a"}': '0x20' },
        'CloudopsJournalUnreachable',
        'a refuses every change: its journal cannot be written.',
      ],
      ['it can', { 'cloudops_journal_reachable{instance="a"}': '1x20' }, 'CloudopsJournalUnreachable', undefined],
      [
        'outcomes wait to be written',
        { 'cloudops_unwritten_outcomes{instance="a"}': '2x20' },
        'CloudopsOutcomesUnwritten',
        'a holds outcomes that are not in the journal (2). Do not stop it.',
      ],
      [
        'the first change of a server has an unknown outcome',
        unknown('0x15 1x5'),
        'CloudopsUnknownOutcomes',
        'Nobody knows what became of a change of restore_instance.',
      ],
      [
        'a server ends a change of a server that was killed',
        { 'cloudops_interrupted_changes_total{tool="restore_instance"}': '0x15 1x5' },
        'CloudopsUnknownOutcomes',
        'Nobody knows what became of a change of restore_instance.',
      ],
      [
        'a server ends such a change at its start',
        { 'cloudops_interrupted_changes_total{tool="restore_instance"}': '_x15 1x5' },
        'CloudopsUnknownOutcomes',
        'Nobody knows what became of a change of restore_instance.',
      ],
      [
        'a server has ended such a change more than ten minutes ago',
        { 'cloudops_interrupted_changes_total{tool="restore_instance"}': '0 1x20' },
        'CloudopsUnknownOutcomes',
        undefined,
      ],
      ['no outcome has been unknown for ten minutes', unknown('0 1x20'), 'CloudopsUnknownOutcomes', undefined],
      [
        'the issuer does not answer',
        { 'cloudops_issuer_reachable{instance="a"}': '0x20' },
        'CloudopsIssuerUnreachable',
        'a cannot fetch the keys of its issuer. Keys that it already has are good for a day.',
      ],
      [
        'no caller can be authenticated',
        { 'cloudops_authentication_ready{instance="a"}': '0x20' },
        'CloudopsAuthenticationUnavailable',
        'a refuses every request: it has no keys of its issuer, or cannot read its tokens file.',
      ],
      [
        'the journal fails for a moment, and changes are refused again and again',
        {
          'cloudops_calls_total{instance="a",tool="t",outcome="journal_unavailable"}': '0 1 1 1 1 2 2 2 2 3 3 3 3 4x7',
        },
        'CloudopsChangesRefused',
        'a goes on refusing changes, because its journal often fails.',
      ],
      [
        'changes were refused in one failover',
        { 'cloudops_calls_total{instance="a",tool="t",outcome="journal_unavailable"}': '0x8 5x12' },
        'CloudopsChangesRefused',
        undefined,
      ],
      [
        'a caller sends too many requests',
        { 'cloudops_refused_requests_total{instance="a",reason="rate"}': '0+9x20' },
        'CloudopsBusy',
        'a refuses requests because it has too many.',
      ],
    ];
    test.each(situations)('when %s', (_what, series, alertname, summary) => {
      const path = join(mkdtempSync(join(tmpdir(), 'cloudops-alerts-')), 'situation.json');
      const severity = rules().find(({ alert }) => alert === alertname)?.labels.severity;
      const [label] = Object.keys(series).flatMap((name) => /(instance|tool)="(\w+)"/.exec(name)?.slice(1, 3) ?? []);
      const labels = label === 'instance' ? { instance: 'a' } : { tool: 'restore_instance' };
      const expected =
        summary === undefined ? [] : [{ exp_labels: { severity, ...labels }, exp_annotations: { summary } }];
      const situation = {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [{ eval_time: '19m', alertname, exp_alerts: expected }],
      };
      writeFileSync(path, JSON.stringify({ rule_files: [resolve(rulesFile)], tests: [situation] }));
      const { status, stderr, stdout } = promtool('test', path);
      rmSync(dirname(path), { recursive: true });
      expect(status === 0 ? '' : stdout + stderr).toBe('');
    });
  });

  test('are explained in the runbook, each of them', () => {
    const runbook = readFileSync('docs/OPERATE.md', 'utf8');
    for (const { alert } of rules()) expect(runbook).toContain(`| \`${alert}\` |`);
  });
});

describe('the Dockerfile', () => {
  const lines = readFileSync('Dockerfile', 'utf8').replaceAll('\\\n', ' ').split('\n');
  const of = (instruction: string) =>
    lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1));

  test('copies what there is and what the context lets through', () => {
    const allowed = readFileSync('.dockerignore', 'utf8').split('\n');
    const copied = of('COPY')
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1));
    for (const path of copied) {
      expect(existsSync(path)).toBe(true);
      expect(allowed).toContain(`!${path}`);
    }
  });

  test('copies all that the build needs', () => {
    const context = mkdtempSync(join(tmpdir(), 'cloudops-image-'));
    const copied = of('COPY').filter((line) => !line.startsWith('--from'));
    for (const path of copied.flatMap((line) => line.split(' ').slice(0, -1)))
      cpSync(path, join(context, path), { recursive: true });
    symlinkSync(realpathSync('node_modules'), join(context, 'node_modules'));
    execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: context, stdio: 'pipe' });
    expect(existsSync(join(context, 'dist/main.js'))).toBe(true);
    rmSync(context, { recursive: true });
  });

  test('finds the files of the guide by their names there, and may read them', () => {
    const [, run = ''] = /\ndocker run (.*?)\n```/s.exec(guide) ?? [];
    const [, settings = ''] = /```ini\n(.*?)```/s.exec(guide) ?? [];
    const files = settings.match(/(?<=_FILE=).*/g) ?? [];
    expect(files).toEqual(['http-tokens', 'state-key']);
    // The guide makes them with `umask 077`.
    for (const file of files) expect(guide).toMatch(new RegExp(` >>? ${file}\\n`));
    expect(guide).toContain('umask 077');
    for (const option of ['--user "$(id -u):$(id -g)"', '-v "$PWD:/run/cloudops:ro"', '-w /run/cloudops'])
      expect(run).toContain(option);
  });

  test('runs as a user that is not root, without a shell, and asks for its health', () => {
    expect(of('USER')).toEqual(['1000:1000']);
    const commands = [
      ...of('RUN'),
      ...of('ENTRYPOINT'),
      ...of('CMD'),
      ...of('HEALTHCHECK').map((line) => line.replace(/^.*?CMD /, '')),
    ];
    for (const command of commands) expect(z.array(z.string()).safeParse(JSON.parse(command)).success).toBe(true);
    expect(of('HEALTHCHECK')[0]).toMatch(/CMD \["node", "\/app\/dist\/main.js", "health"\]$/);
    expect(of('ENTRYPOINT')).toEqual(['["node", "--liftoff-only", "/app/dist/main.js"]']);
    expect(of('WORKDIR').at(-1)).toBe('/app');
    expect(of('CMD')).toEqual(['["http", "--host", "0.0.0.0", "--port", "8080"]']);
  });
});
