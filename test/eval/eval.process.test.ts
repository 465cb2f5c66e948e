import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { situations } from '../../eval/situations.js';
import { cleanEnv } from '../support/server-process.js';
import { runScripts } from './run-evaluation.js';
import { type Step, say, startScriptedModel } from './scripted-model.js';
import { behaves, misbehaves, withSkill } from './scripts.js';

/** The evaluation with a script in place of the model: the judge lets pass what is right, and catches what is wrong. */

const names = situations.map(({ name }) => name);

const scriptOf = (name: string) => behaves[name] ?? [];

const withoutSkill = situations.filter(({ skill }) => skill === undefined);
test.concurrent.each(withoutSkill)('$name: a model that behaves is right', async ({ name }) => {
  const { code, stdout } = await runScripts([scriptOf(name)], ['--only', name]);
  expect(stdout).not.toMatch(/^- /m);
  expect(stdout).toMatch(new RegExp(`^\\| ${name} \\| yes \\| no \\| \\d+ \\| [\\d,]+ \\|$`, 'm'));
  expect(code).toBe(0);
});

/**
 * That a skill can be followed to the end, and how many calls its steps take, as those of a model that behaves without it. Whether a model follows it,
 * only a model shows.
 */
test.concurrent.each(situations.flatMap(({ name, skill }) => (skill === undefined ? [] : [{ name, skill }])))(
  'the skill $skill does its job with fewer calls than an agent needs that searches for each step',
  async ({ name, skill }) => {
    const [plain, skilled] = [await runScripts([scriptOf(name)], ['--only', name, '--json']), await runWithSkill(name)];
    for (const { code, stdout } of [plain, skilled]) expect(code, stdout).toBe(0);
    expect(skilled.system).toContain(readFileSync(`skills/${skill}/SKILL.md`, 'utf8'));
    expect(callsIn(skilled.stdout)).toBeLessThan(callsIn(plain.stdout));
  },
);

const requested = z.object({ messages: z.array(z.object({ content: z.string().nullish() })) });

async function runWithSkill(name: string) {
  const { asked = '{}', ...ran } = await runScripts([withSkill[name] ?? []], ['--only', name, '--json', '--skills']);
  return { ...ran, system: requested.parse(JSON.parse(asked)).messages[0]?.content };
}

const callsIn = (printed: string): number => {
  const report = z.object({ situations: z.tuple([z.object({ right: z.literal(true), calls: z.number() })]) });
  return report.parse(JSON.parse(printed)).situations[0].calls;
};

test('a run of several situations has a row for each, and one with their sums', async () => {
  const [first = '', second = ''] = names;
  const { code, stdout } = await runScripts([scriptOf(first), [say('Done.')]], ['--only', first, '--only', second]);
  const rows = stdout.split('\n').filter((line) => /^\| (?!-)/.test(line));
  // The first row names the columns.
  expect(rows.slice(1).map((row) => row.split(' | ').slice(0, 2))).toEqual([
    [`| ${first}`, 'yes'],
    [`| ${second}`, 'no'],
    [expect.any(String), '1 of 2'],
  ]);
  expect(code).toBe(1);
});

test.concurrent.each(misbehaves)(
  '$situation: a model that $what is caught',
  async ({ situation, steps, harm, lacks }) => {
    const { code, reasons, stdout } = await runScripts([steps], ['--only', situation]);
    expect(stdout).toMatch(new RegExp(`^\\| ${situation} \\| no \\| ${harm === undefined ? 'no' : 'yes'} \\|`, 'm'));
    const [harmful, others] = [true, false].map((isHarm) =>
      reasons.filter((line) => line.startsWith(`- ${situation}: harm: `) === isHarm).join('\n'),
    );
    if (harm !== undefined) expect(harmful).toMatch(harm);
    if (lacks !== undefined) expect(others).toMatch(lacks);
    expect(code).toBe(1);
  },
);

test('as a command, it prints the table, and writes what happened', async () => {
  const [name = ''] = names;
  const model = await startScriptedModel([scriptOf(name), scriptOf(name)]);
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-eval-'));
  try {
    const args = [
      'eval/main.mjs',
      '--only',
      name,
      '--runs',
      '2',
      '--transcripts',
      folder,
      '--results',
      folder,
      '--model',
      'scripted',
    ];
    const env = cleanEnv({ EVAL_BASE_URL: model.baseUrl, EVAL_API_KEY: 'sk-secret-0123456789' });
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(stdout).toContain(`scripted at ${model.baseUrl}, 20`);
    expect(stdout).toContain(`| ${name} | 2 of 2 | 0 of 2 | 4 | 600 |`);
    expect(model.requests[0]?.headers.authorization).toBe('Bearer sk-secret-0123456789');
    const written = readFileSync(join(folder, 'find-an-upload-2.json'), 'utf8');
    expect(JSON.parse(written)).toMatchObject({ situation: name, verdict: { right: true }, journal: [] });
    expect(written).not.toContain('sk-secret');
    const [result = ''] = readdirSync(folder).filter((file) => /^scripted-20.*\.json$/.test(file));
    const kept = { model: 'scripted', runs: 2, skills: false, tried: 2, right: 2, harmful: 0, calls: 4, tokens: 600 };
    expect(JSON.parse(readFileSync(join(folder, result), 'utf8'))).toMatchObject(kept);
  } finally {
    await model.close();
    rmSync(folder, { recursive: true });
  }
});

test('what was measured until the address broke is printed', async () => {
  const broken: Step = () => ({ role: 'assistant', tool_calls: 'none' });
  const [first = '', second = ''] = names;
  const { code, stdout, stderr } = await runScripts([scriptOf(first), [broken]], ['--only', first, '--only', second]);
  expect(stdout).toContain(`| ${first} | yes |`);
  expect(stdout).not.toContain(second);
  expect(stderr).toMatch(/no chat completion/);
  expect(code).toBe(2);
});

test('every situation has a model that misbehaves', () => {
  expect(new Set(misbehaves.map(({ situation }) => situation))).toEqual(new Set(names));
});
