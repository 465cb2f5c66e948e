// Mutation tests: Stryker changes the product in one place after the other, and looks whether a test notices.
// npm run test:mutation [-- consent signing] prints a score for each part, and every change that no test noticed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import writeSchemas from '../../scripts/schemas.mjs';

const version = '9.6.1';
const root = fileURLToPath(new URL('../..', import.meta.url));
/** Beside the project's own packages, so that Stryker finds its vitest, but in no lock file. */
const tools = join(root, 'node_modules/.stryker');
const stryker = join(tools, 'node_modules/@stryker-mutator/core/bin/stryker.js');

function named(folder, names) {
  const files = names.split(' ').map((name) => `test/${folder}/${name}.test.ts`);
  const missing = files.filter((file) => !existsSync(join(root, file)));
  if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`);
  return files;
}

/**
 * What is mutated in each part, and the tests that have to notice. A file has the tests that are about it, and no others: each change
 * takes as long as they do.
 */
const parts = {
  consent: [
    { mutate: 'src/consent/{decision,digest,question,tokens}.ts', tests: named('consent', 'decision tokens question') },
    {
      mutate: 'src/consent/{obtain,pending,question-queue}.ts',
      tests: [...named('consent', 'obtain question-queue'), ...named('calls', 'refusals')],
    },
    { mutate: 'src/consent/tickets.ts', tests: named('mcp/views', 'views') },
    { mutate: 'src/mcp/elicitation.ts', tests: named('mcp', 'elicitation') },
    { mutate: 'src/answers/plan.ts', tests: named('consent', 'question') },
  ],
  journal: [
    {
      mutate: 'src/journal/!(postgres*|file*|watch|shared-messages).ts',
      tests: named('journal', 'budget conflict database-url entry journal key line persistence recovery window'),
    },
    { mutate: 'src/journal/watch.ts', tests: named('journal', 'watch') },
    { mutate: 'src/journal/file*.ts', tests: named('journal', 'file file-faults') },
  ],
  calls: [
    {
      mutate: 'src/calls/{call,change}.ts',
      tests: [...named('calls', 'call change faults'), ...named('consent', 'obtain')],
    },
    { mutate: 'src/calls/{read,secrets}.ts', tests: named('calls', 'read pages secrets secrets-race') },
    { mutate: 'src/calls/validate.ts', tests: named('calls', 'validate') },
    { mutate: 'src/calls/{policy,endpoint,in-flight}.ts', tests: named('calls', 'policy endpoint in-flight') },
    { mutate: 'src/observe/tracing.ts', tests: named('observe', 'tracing') },
  ],
  redact: [{ mutate: 'src/transport/redact.ts', tests: named('transport', 'redact') }],
  signing: [
    { mutate: 'src/signing/{sign,profiles}.ts', tests: named('signing', 'sign') },
    { mutate: 'src/signing/{open-keys,profile}.ts', tests: named('signing', 'profile') },
    { mutate: 'src/signing/{process-keys,run-program}.ts', tests: named('signing', 'process-keys') },
    {
      mutate: 'src/signing/{keys,watched-files}.ts',
      tests: [...named('signing', 'watched-files'), ...named('calls', 'rotation')],
    },
  ],
};

function run(args, env = {}) {
  const { status } = spawnSync(args[0], args.slice(1), {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(stryker))
  run([
    ...[
      'npm',
      'install',
      '--prefix',
      tools,
      '--no-save',
      '--legacy-peer-deps',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
    ],
    ...['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${version}`),
  ]);

// Tests read them, and no global set-up runs under Stryker.
await writeSchemas();
const names = process.argv.slice(2);
const scores = [];
for (const [name, groups] of Object.entries(parts)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const files = groups.map((group, index) => mutantsOf(`${name}-${index}`, name !== 'signing', group));
  scores.push(`${name}: ${summarize(Object.assign({}, ...files))}`);
}
console.log(`\n${scores.join('\n')}`);

/** Runs Stryker. Gives back what it says of each file. */
function mutantsOf(name, ignoreStatic, { mutate, tests }) {
  const report = join(tools, `${name}.json`);
  const settings = join(tools, `${name}.conf.json`);
  const options = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    mutate: [mutate],
    // Constants of modules would need all tests for each change.
    ignoreStatic,
    // The compiler here has no API that Stryker could use.
    tsconfigFile: 'none',
    concurrency: 2,
    timeoutMS: 15_000,
    tempDirName: join(tmpdir(), `cloudops-mutation-${name}`),
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: report },
  };
  writeFileSync(settings, JSON.stringify(options));
  run([process.execPath, stryker, 'run', settings], { MUTATION_TESTS: tests.join(' ') });
  rmSync(options.tempDirName, { recursive: true, force: true });
  return JSON.parse(readFileSync(report, 'utf8')).files;
}

/** The score, and a line for each change that was not noticed. */
function summarize(files) {
  const all = Object.entries(files).flatMap(([file, { mutants, source }]) =>
    mutants.map((mutant) => ({ ...mutant, file, line: source.split('\n')[mutant.location.start.line - 1].trim() })),
  );
  const noticed = all.filter(({ status }) => status === 'Killed' || status === 'Timeout');
  const missed = all.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const lines = missed.map(
    ({ file, location: { start }, mutatorName, replacement, line }) =>
      `  ${file}:${start.line}:${start.column} ${mutatorName} -> ${replacement?.slice(0, 60)} | ${line.slice(0, 100)}`,
  );
  const score = ((100 * noticed.length) / (noticed.length + missed.length)).toFixed(1);
  return [`${score} % of ${noticed.length + missed.length}`, ...lines].join('\n');
}
