// Mutation tests: Stryker changes the product in one place after the other, and looks whether a test notices.
// npm run test:mutation [-- consent signing] prints a score for each part, and every change that no test noticed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const version = '9.6.1';
const root = fileURLToPath(new URL('../..', import.meta.url));
/** Beside the project's own packages, so that Stryker finds its vitest, but in no lock file. */
const tools = join(root, 'node_modules/.stryker');
const stryker = join(tools, 'node_modules/@stryker-mutator/core/bin/stryker.js');

/** What is mutated, and the tests that have to notice. */
const parts = {
  consent: {
    mutate: ['src/consent/*.ts'],
    tests:
      'test/consent/{decision,tokens,question}.test.ts test/calls/repeats.test.ts test/protocol/{consent,answers}.test.ts',
  },
  journal: { mutate: ['src/journal/!(postgres).ts'], tests: 'test/journal/*.test.ts test/config/load.test.ts' },
  calls: { mutate: ['src/calls/*.ts'], tests: 'test/calls/*.test.ts test/protocol/{consent,views,answers}.test.ts' },
  redact: { mutate: ['src/transport/redact.ts'], tests: 'test/transport/redact.test.ts' },
  signing: { mutate: ['src/signing/*.ts'], tests: 'test/signing/*.test.ts' },
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

const names = process.argv.slice(2);
const scores = [];
for (const [name, { mutate, tests }] of Object.entries(parts)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const report = join(tools, `${name}.json`);
  const settings = join(tools, `${name}.conf.json`);
  const options = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts' },
    mutate,
    // Constants of modules would need all tests for each change.
    ignoreStatic: name !== 'signing',
    // The compiler here has no API that Stryker could use.
    tsconfigFile: 'none',
    concurrency: 1,
    timeoutMS: 15_000,
    tempDirName: join(tmpdir(), `cloudops-mutation-${name}`),
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: report },
  };
  writeFileSync(settings, JSON.stringify(options));
  run([process.execPath, stryker, 'run', settings], { MUTATION_TESTS: tests });
  rmSync(options.tempDirName, { recursive: true, force: true });
  scores.push(`${name}: ${summarize(JSON.parse(readFileSync(report, 'utf8')))}`);
}
console.log(`\n${scores.join('\n')}`);

/** The score, and a line for each change that was not noticed. */
function summarize({ files }) {
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
