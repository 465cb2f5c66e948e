// Runs the official conformance suite against the built server over HTTP: npm run test:conformance
// Fails if a scenario that applies fails or checks nothing, and if the suite has one that neither list names.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importSource } from '../../scripts/source.mjs';

const { operations } = await importSource("export { operations } from './src/tools/index.js';");

const suite = ['-y', '-p', 'node@22', '-p', '@modelcontextprotocol/conformance@0.2.0-alpha.12', 'conformance'];
const inspector = ['-y', '-p', 'node@22', '-p', '@modelcontextprotocol/inspector@2.12.0'];

const applies = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'dns-rebinding-protection',
  'server-session-lifecycle',
  'sep-2164-resource-not-found',
  'sep-2640-skills-directory',
  'sep-2640-skills-enumeration',
  'sep-2640-skills-manifest',
  'caching',
  'http-header-validation',
];

/** Checks that always fail, in scenarios that apply: `caching` lists prompts although the server does not declare that it has any. */
const failing = { caching: 1 };

const tool = (name) => `calls ${name}, a tool of the suite's own server`;
const prompt = (name) => `gets ${name}, a prompt of the suite's own server`;
const resource = (uri) => `reads ${uri}, a resource of the suite's own server`;
const doesNotApply = {
  'tools-call-simple-text': tool('test_simple_text'),
  'tools-call-image': tool('test_image_content'),
  'tools-call-audio': tool('test_audio_content'),
  'tools-call-embedded-resource': tool('test_embedded_resource'),
  'tools-call-mixed-content': tool('test_multiple_content_types'),
  'tools-call-with-logging': tool('test_tool_with_logging'),
  'tools-call-error': tool('test_error_handling'),
  'tools-call-with-progress': tool('test_tool_with_progress'),
  'tools-call-sampling': tool('test_sampling'),
  'tools-call-elicitation': tool('test_elicitation'),
  'elicitation-sep1034-defaults': tool('test_elicitation_sep1034_defaults'),
  'elicitation-sep1330-enums': tool('test_elicitation_sep1330_enums'),
  'json-schema-2020-12': tool('json_schema_2020_12_tool'),
  'completion-complete': 'completes an argument of test_prompt_with_arguments, a prompt of the suite',
  'resources-read-text': resource('test://static-text'),
  'resources-read-binary': resource('test://static-binary'),
  'resources-templates-read': resource('test://template/{id}/data'),
  'prompts-list': 'lists prompts; there are none, and the capability is not declared',
  'prompts-get-simple': prompt('test_simple_prompt'),
  'prompts-get-with-args': prompt('test_prompt_with_arguments'),
  'prompts-get-embedded-resource': prompt('test_prompt_with_embedded_resource'),
  'prompts-get-with-image': prompt('test_prompt_with_image'),
  'resources-subscribe': 'subscribes to a resource; what is served never changes, and the capability is not declared',
  'resources-unsubscribe': 'the same',
  'logging-set-level':
    'sets the level of log messages to the client; none are sent, and the capability is not declared',
  'server-sse-polling': 'reconnects to a stream of a session; there are none, and the suite then checks nothing',
  'server-sse-multiple-streams': 'opens streams of one session; there are none, and the suite then checks nothing',
  'server-stateless':
    'calls tools of the suite, and listens for changes of lists, which never change; 22 of its checks pass',
  'http-custom-header-server-validation': 'calls a tool whose schema names headers; there is none',
  ...Object.fromEntries(
    [
      'lifecycle',
      'capability-negotiation',
      'wire-fields',
      'request-state-removal',
      'mrtr-input',
      'request-headers',
      'dispatch-and-envelope',
      'status-notifications',
      'required-task-error',
      'mrtr-composition',
    ].map((name) => [`tasks-${name}`, 'is of the Tasks extension, which is not declared']),
  ),
  ...Object.fromEntries(
    [
      'basic-elicitation',
      'basic-sampling',
      'basic-list-roots',
      'request-state',
      'multiple-input-requests',
      'multi-round',
      'missing-input-response',
      'non-tool-request',
      'result-type',
      'unsupported-methods',
      'tampered-state',
      'capability-check',
      'ignore-extra-params',
      'validate-input',
    ].map((name) => [`input-required-result-${name}`, 'calls tools of the suite that ask for input']),
  ),
};

const state = mkdtempSync(join(tmpdir(), 'cloudops-conformance-'));
// The Inspector keeps files in the home; npm's cache stays where it is.
const cache = spawnSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).stdout.trim();
const env = { ...process.env, XDG_STATE_HOME: state, HOME: state, npm_config_cache: cache };
const settings = {
  CLOUDOPS_CONFIRM: 'off',
  CLOUDOPS_TOOLS: operations.map(({ name }) => name).join(','),
  // The scenarios call as fast as they can.
  CLOUDOPS_HTTP_RATE: '1000',
};
const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('../../dist/main.js', import.meta.url)), 'http', '--sandbox', '--port', '0'],
  { env: { ...env, ...settings }, stdio: ['ignore', 'inherit', 'pipe'] },
);
const port = await new Promise((resolve, reject) => {
  let log = '';
  server.stderr.on('data', (chunk) => {
    log += chunk;
    const [, found] = /"event":"listening".*"port":(\d+)/.exec(log) ?? [];
    if (found !== undefined) resolve(found);
  });
  server.on('exit', () => reject(new Error(`the server ended: ${log}`)));
});
const url = `http://127.0.0.1:${port}/mcp`;
const npx = (args) => spawnSync('npx', args, { cwd: state, env, encoding: 'utf8', timeout: 300_000 });

const problems = [];
const run = npx([...suite, 'server', '--url', url, '--suite', 'all', '--output-dir', join(state, 'results')]);
const results = [...run.stdout.matchAll(/^\S ([\w-]+): (\d+) passed, (\d+) failed/gm)];
if (results.length === 0) problems.push(`the suite did not run:\n${run.stdout}\n${run.stderr}`);
for (const [, name, passed, failed] of results) {
  const reason = doesNotApply[name];
  const good = Number(failed) === (failing[name] ?? 0) && passed !== '0';
  console.log(
    `${reason === undefined ? (good ? 'passed' : 'FAILED') : 'n/a   '}  ${name}${reason === undefined ? '' : `: ${reason}`}`,
  );
  if (reason !== undefined) continue;
  if (!applies.includes(name)) problems.push(`${name} is new: decide whether it applies`);
  else if (!good) problems.push(`${name}: ${passed} passed, ${failed} failed`);
}
for (const name of applies) if (!results.some(([, other]) => other === name)) problems.push(`${name} was not run`);

// npx takes longer to find a program than the Inspector takes for a call.
const [node, program = ''] = npx([...inspector, '-c', 'which node mcp-inspector']).stdout.split('\n');
const inspect = (...args) => {
  const call = [program, '--cli', url, '--transport', 'http', '--method', ...args];
  const { status, stdout, stderr } = spawnSync(node, call, { cwd: state, env, encoding: 'utf8', timeout: 300_000 });
  const name = args.slice(0, 3).join(' ');
  console.log(`${status === 0 ? 'passed' : 'FAILED'}  Inspector ${name}`);
  if (status !== 0) problems.push(`the Inspector's ${name} ended with ${status}:\n${stdout}\n${stderr}`);
};
inspect('tools/list', '--strict');
for (const { name, example } of operations) {
  const args = Object.entries(example).flatMap(([key, value]) => ['--tool-arg', `${key}=${JSON.stringify(value)}`]);
  inspect('tools/call', '--tool-name', name, ...args);
}

server.removeAllListeners('exit');
server.kill();
await new Promise((resolve) => server.on('exit', resolve));
rmSync(state, { recursive: true, force: true });
for (const problem of problems) console.error(problem);
console.log(`${applies.length} of ${results.length} scenarios apply; ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
