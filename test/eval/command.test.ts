import { expect, test } from 'vitest';
import { evaluateWith } from './run-evaluation.js';

/** The settings of the evaluation: what is wrong with them is said before anything is started. */

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  evaluateWith(args, env, 'not started');

const model = ['--base-url', 'https://models.example.com/v1', '--model', 'm'];

test('--help says how it is used', async () => {
  expect(await run(['--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('--key-file FILE'),
    stderr: '',
  });
});

test.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
  ['no model', [], {}, /^Which model\? Give --base-url and --model\./],
  ['no model in the environment', [], { EVAL_BASE_URL: 'https://models.example.com/v1' }, /^Which model\?/],
  ['an option that there is not', ['--key', 'k'], {}, /^Unknown option '--key'/],
  ['no address', ['--base-url', 'models', '--model', 'm'], {}, /^models is no address/],
  ['another protocol', ['--base-url', 'file:///x', '--model', 'm'], {}, /^file:\/\/\/x is no address/],
  ['a key in the address', ['--base-url', 'https://k@x.example', '--model', 'm'], {}, /must have no user/],
  [
    'a key over http',
    ['--base-url', 'http://x.example/v1', '--model', 'm'],
    { EVAL_API_KEY: 'k' },
    /to x\.example unencrypted/,
  ],
  ['a key that no header can carry', model, { EVAL_API_KEY: 'k\nk' }, /^The key has characters/],
  [
    'a file of the key that is not there',
    [...model, '--key-file', '/nonexistent/key'],
    {},
    /^The file of the key, \/nonexistent\/key, cannot/,
  ],
  ['a body that is no object', [...model, '--body', '[1]'], {}, /^--body takes a JSON object/],
  ['no number', [...model, '--runs', '0'], {}, /^--runs takes a whole number/],
  ['situations without operations', [...model, '--situations', 's.json'], {}, /^--situations and --endpoint are for/],
  [
    'a situation that there is not',
    [...model, '--only', 'lunch'],
    {},
    /^There is no situation "lunch"\. There are: find an upload,/,
  ],
])('%s', async (_what, args, env, problem) => {
  const { code, stdout, stderr } = await run(args, env);
  expect(stderr).toMatch(problem);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});
