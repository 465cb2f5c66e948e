import { evaluate } from '../../eval/command.js';
import { serverPath } from '../support/server-process.js';
import { type Step, startScriptedModel } from './scripted-model.js';

type Env = Readonly<Record<string, string>>;

/** Runs the command as `npm run eval` does, with other settings. */
export async function evaluateWith(args: readonly string[], env: Env = {}, server = serverPath) {
  const printed = { stdout: '', stderr: '' };
  const code = await evaluate({
    args,
    env,
    stdout: { write: (text) => (printed.stdout += text) },
    stderr: { write: (text) => (printed.stderr += text) },
    now: () => new Date(),
    server,
    skills: 'skills',
    results: undefined,
    signal: new AbortController().signal,
  });
  const reasons = printed.stdout.split('\n').filter((line) => line.startsWith('- '));
  return { code, reasons, ...printed };
}

/** Runs the command with scripts in place of a model. `asked` is the model's first message. */
export async function runScripts(scripts: readonly (readonly Step[])[], args: readonly string[], env: Env = {}) {
  const model = await startScriptedModel(scripts);
  const all = ['--base-url', model.baseUrl, '--model', 'scripted', ...args];
  const ran = await evaluateWith(all, env).finally(model.close);
  return { ...ran, asked: model.requests[0]?.body };
}
