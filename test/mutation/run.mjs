// Mutation tests: Stryker changes the product in one place after the other, and looks whether a test notices.
// npm run test:mutation [-- consent signing/sign] prints a score for each part or file, and every change that no test noticed.
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

/** What is mutated in each part, and the tests that have to notice: those that are about it. Each change takes as long as they do. */
const parts = JSON.parse(readFileSync(new URL('parts.json', import.meta.url), 'utf8'));

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

// Tests read the schemas and the views, and no global set-up runs under Stryker.
await writeSchemas();
if (!existsSync(join(root, 'dist/ui'))) run(['npm', 'run', '--silent', 'build']);
const names = process.argv.slice(2);
const scores = [];
for (const [name, groups] of Object.entries(parts)) {
  const chosen = groups.flatMap(({ mutate, tests }, index) => {
    const files = mutate
      .split(' ')
      .filter((file) => names.length === 0 || names.includes(name) || names.includes(file));
    return files.length === 0 ? [] : mutantsOf(`${name}-${index}`, name !== 'signing', files, tests.split(' '));
  });
  if (chosen.length > 0) scores.push(`${name}: ${summarize(Object.assign({}, ...chosen))}`);
}
console.log(`\n${scores.join('\n')}`);

/** Runs Stryker. Gives back what it says of each file. */
function mutantsOf(name, ignoreStatic, mutate, tests) {
  const report = join(tools, `${name}.json`);
  const settings = join(tools, `${name}.conf.json`);
  const options = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    mutate: mutate.map((file) => `src/${file}.ts`),
    // Constants of modules would need all tests for each change.
    ignoreStatic,
    // The compiler here has no API that Stryker could use.
    tsconfigFile: 'none',
    concurrency: 2,
    // Whoever else keeps the machine busy must not make a change count as noticed.
    timeoutMS: 20_000,
    timeoutFactor: 3,
    tempDirName: join(tmpdir(), `cloudops-mutation-${name}`),
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: report },
  };
  writeFileSync(settings, JSON.stringify(options));
  run([process.execPath, stryker, 'run', settings], {
    MUTATION_TESTS: tests.map((test) => `test/${test}.test.ts`).join(' '),
  });
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
  const late = noticed.filter(({ status }) => status === 'Timeout').length;
  return [
    `${score} %, ${noticed.length} of ${noticed.length + missed.length}, ${late} of them by a timeout`,
    ...lines,
  ].join('\n');
}
