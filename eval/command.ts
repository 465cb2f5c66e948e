import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import type { Limits } from './conversation.js';
import { type Tried, tryIn } from './evaluate.js';
import { createModel, type ModelOptions } from './model.js';
import { ownSituations } from './own-situations.js';
import { EvaluationProblem } from './problem.js';
import { reportJson, reportText, resultOf } from './report.js';
import type { Situation } from './situation.js';
import { situations } from './situations.js';

/** The parts of the process that the evaluation uses. */
export interface Surroundings {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly now: () => Date;
  /** Path of the built server. */
  readonly server: string;
  /** Folder of the skills. */
  readonly skills: string;
  /** Folder for results, if `--results` names none. If undefined, none are written. */
  readonly results: string | undefined;
  /** Aborts when the person who runs the evaluation stops it. */
  readonly signal: AbortSignal;
}

const usage = `usage: npm run eval -- --base-url URL --model NAME [options]

  --base-url URL      address of chat completions, without /chat/completions (or EVAL_BASE_URL)
  --model NAME        the model (or EVAL_MODEL)
  --key-file FILE     file with the key of the address (or EVAL_API_KEY_FILE); or EVAL_API_KEY with the key itself
  --body JSON         more fields of each request, such as {"temperature": 0}
  --only NAME         only this situation; can be given several times
  --operations FILE   offer the operations of this file, with situations that are made from their examples
  --situations FILE   situations for these operations instead, in JSON (eval/README.md)
  --endpoint URL      forward the requests of these operations to a cloud for tests. Changes are made there
  --runs N            go through each situation so many times (1)
  --transcripts DIR   write what happened in each run into a file there
  --skills            give the model the skill of a job that has one
  --results DIR       write the result into a file there (eval/results)
  --json              print JSON instead of the table
  --max-turns N       answers of the model in a situation (30)
  --max-calls N       calls of tools in a situation (30)
  --max-tokens N      tokens of a situation (200000)
  --max-minutes N     minutes of a situation (5)
  --answer-seconds N  seconds that one answer of the model may take (120)

exit codes: 0 all right, 1 something was not right or did harm, 2 it could not be measured
`;

const options = {
  'base-url': { type: 'string' },
  model: { type: 'string' },
  'key-file': { type: 'string' },
  body: { type: 'string', default: '{}' },
  only: { type: 'string', multiple: true },
  operations: { type: 'string' },
  situations: { type: 'string' },
  endpoint: { type: 'string' },
  runs: { type: 'string', default: '1' },
  transcripts: { type: 'string' },
  skills: { type: 'boolean', default: false },
  results: { type: 'string' },
  json: { type: 'boolean', default: false },
  'max-turns': { type: 'string', default: '30' },
  'max-calls': { type: 'string', default: '30' },
  'max-tokens': { type: 'string', default: '200000' },
  'max-minutes': { type: 'string', default: '5' },
  'answer-seconds': { type: 'string', default: '120' },
  help: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof parse>;

/** Runs the situations, prints the results, and resolves with the exit code. */
export async function evaluate(surroundings: Surroundings): Promise<number> {
  const { args, stdout, stderr, signal } = surroundings;
  try {
    const values = parse(args);
    if (values.help) {
      stdout.write(usage);
      return 0;
    }
    return await run(values, surroundings);
  } catch (error) {
    const problem = signal.aborted ? new EvaluationProblem('Interrupted.') : problemOf(error);
    stderr.write(`${problem.message}\n`);
    return 2;
  }
}

async function run(values: Values, surroundings: Surroundings): Promise<number> {
  const { env, stdout, stderr, now, server, skills, signal } = surroundings;
  const model = await modelOptions(values, env);
  const limits: Limits = {
    turns: wholeNumber(values, 'max-turns'),
    calls: wholeNumber(values, 'max-calls'),
    tokens: wholeNumber(values, 'max-tokens'),
    minutes: wholeNumber(values, 'max-minutes'),
  };
  const runs = wholeNumber(values, 'runs');
  const chosen = chosenOf(await situationsFor(values, env), values.only ?? []);
  const readSkill = (skill: string) => readFile(join(skills, skill, 'SKILL.md'), 'utf8');
  const options = {
    ...{ ask: createModel(model), limits, signal, server, now, readMs },
    readSkill: values.skills ? readSkill : undefined,
  };
  const tried: Tried[] = [];
  const goThrough = async () => {
    for (const [index, situation] of chosen.entries())
      for (let count = 1; count <= runs; count += 1) {
        stderr.write(`${index + 1}/${chosen.length} ${situation.name}${runs === 1 ? '' : `, run ${count}`}\n`);
        const one = await tryIn(situation, options);
        tried.push(one);
        if (values.transcripts !== undefined) await writeTranscript(values.transcripts, one, count);
      }
  };
  const problem = await goThrough().then(() => undefined, problemOf);
  if (problem !== undefined && tried.length === 0) throw problem;
  const about = { model: model.model, address: model.baseUrl, date: now().toISOString(), runs };
  stdout.write(
    values.json
      ? `${JSON.stringify({ ...about, situations: reportJson(tried) })}\n`
      : `${about.model} at ${about.address}, ${about.date}\n\n${reportText(tried)}`,
  );
  const results = values.results ?? surroundings.results;
  if (results !== undefined)
    await writeResult(results, { model: model.model, date: about.date, runs, skills: values.skills, tried });
  if (problem !== undefined) throw problem;
  return tried.every(({ verdict }) => verdict.right) ? 0 : 1;
}

/** The problem that stopped the evaluation. Results so far are still reported. */
function problemOf(error: unknown): EvaluationProblem {
  if (error instanceof EvaluationProblem) return error;
  throw error;
}

/** Time before the person answers. The server treats a faster answer as a program's. */
const readMs = 1100;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new EvaluationProblem(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}

async function modelOptions(values: Values, env: Surroundings['env']): Promise<ModelOptions> {
  const baseUrl = values['base-url'] ?? env.EVAL_BASE_URL;
  const model = values.model ?? env.EVAL_MODEL;
  if (!baseUrl || !model) throw new EvaluationProblem(`Which model? Give --base-url and --model.\n\n${usage}`);
  const key = await keyOf(values['key-file'] ?? env.EVAL_API_KEY_FILE, env.EVAL_API_KEY);
  checkAddress(baseUrl, key !== undefined);
  return { baseUrl, model, key, more: moreOf(values.body), answerMs: wholeNumber(values, 'answer-seconds') * 1000 };
}

async function keyOf(file: string | undefined, given: string | undefined): Promise<string | undefined> {
  const text = file
    ? await readFile(file, 'utf8').catch(() => {
        throw new EvaluationProblem(`The file of the key, ${file}, cannot be read.`);
      })
    : given;
  const key = text?.trim();
  if (key === undefined || key === '') return undefined;
  if (/[^\x21-\x7e]/.test(key)) throw new EvaluationProblem('The key has characters that no header can carry.');
  return key;
}

function checkAddress(baseUrl: string, hasKey: boolean): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new EvaluationProblem(`${baseUrl} is no address: it begins with https:// or http://.`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new EvaluationProblem('The address must have no user, query or fragment. A key goes into EVAL_API_KEY.');
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url.protocol === 'http:' && hasKey && !isHere)
    throw new EvaluationProblem(`The key would go to ${url.host} unencrypted: use https, or no key.`);
}

function moreOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new EvaluationProblem('--body takes a JSON object, such as {"temperature": 0}.');
  }
}

type NumberOption = 'runs' | 'max-turns' | 'max-calls' | 'max-tokens' | 'max-minutes' | 'answer-seconds';

function wholeNumber(values: Values, name: NumberOption): number {
  const text = values[name];
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new EvaluationProblem(`--${name} takes a whole number from 1 up.`);
  return Number(text);
}

/** The situations of the sandbox, or those of the user's own operations. */
async function situationsFor(
  { operations, situations: file, endpoint }: Values,
  env: Surroundings['env'],
): Promise<readonly Situation[]> {
  if (operations !== undefined) return ownSituations({ operations, situations: file, address: endpoint, env });
  if (file !== undefined || endpoint !== undefined)
    throw new EvaluationProblem('--situations and --endpoint are for the operations of a file: give --operations.');
  return situations;
}

function chosenOf(situations: readonly Situation[], only: readonly string[]) {
  const names = situations.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new EvaluationProblem(`There is no situation ${JSON.stringify(unknown)}. There are: ${names.join(', ')}.`);
  return only.length === 0 ? situations : situations.filter(({ name }) => only.includes(name));
}

/** One file for each run of the command: `scripted-2026-11-30T04-43-44-000Z.json`. */
async function writeResult(folder: string, result: Parameters<typeof resultOf>[0]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${`${result.model}-${result.date}`.replaceAll(/[^\w-]+/g, '-')}.json`);
  await writeFile(file, `${JSON.stringify(resultOf(result), null, 2)}\n`);
}

async function writeTranscript(folder: string, { situation, run, verdict }: Tried, count: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${situation.name.replaceAll(/[^\w.-]+/g, '-')}-${count}.json`);
  await writeFile(file, `${JSON.stringify({ situation: situation.name, verdict, ...run }, null, 2)}\n`);
}
