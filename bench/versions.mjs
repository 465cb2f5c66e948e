// Prints one table of the ratios to the peers on every supported Node version: npm run bench -- versions [--rounds 11]
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '11' } } });
const releases = ['20', '22', '24', '26'];
const here = (file) => fileURLToPath(new URL(file, import.meta.url));

const columns = releases.map((release) => {
  const node = execFileSync('npx', ['-y', '-p', `node@${release}`, 'node', '-p', 'process.execPath'], {
    encoding: 'utf8',
  }).trim();
  const run = (file, ...args) => JSON.parse(execFileSync(node, [here(file), '--json', ...args], { encoding: 'utf8' }));
  const { figures } = run('run.mjs', '--rounds', options.rounds);
  const http = run('http.mjs');
  const ratios = figures.flatMap(({ what, peers }) =>
    peers.map(({ peer, ratio }) => [`${what}: ours / ${peer}`, ratio]),
  );
  const calls = http.rows.flatMap(({ clients, rate, cpu }) => [
    [`calls per second over HTTP, ${clients} clients: ours / peer`, rate.ratio],
    [`CPU per call over HTTP, ${clients} clients: ours / peer`, cpu.ratio],
  ]);
  const memory = ['peak memory over HTTP: ours / peer', http.memory.ratio];
  return new Map([...ratios, ...calls, memory]);
});

const row = (...cells) => `| ${cells.join(' | ')} |`;
console.log(row('ratio', ...releases.map((release) => `Node ${release}`)));
console.log(row('---', ...releases.map(() => '---')));
for (const what of columns[0].keys())
  console.log(row(what, ...columns.map((column) => column.get(what)?.toFixed(2) ?? '')));
