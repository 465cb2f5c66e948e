import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

/** What runs at GitHub, with which rights, and that nobody can change it there. */

const folder = '.github/workflows';
const permissions = z.record(z.string(), z.enum(['read', 'write'])).default({});
const step = z.object({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).default({}),
});
const workflow = z.object({
  permissions,
  jobs: z.record(z.string(), z.object({ permissions, steps: z.array(step) })),
});
const files = readdirSync(folder);
const read = (file: string) => workflow.parse(parse(readFileSync(`${folder}/${file}`, 'utf8')));

describe.each(files)('%s', (file) => {
  const { permissions, jobs } = read(file);
  const steps = Object.values(jobs).flatMap(({ steps }) => steps);

  test('uses actions by the hash of their commit, with the version beside it', () => {
    const uses = [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/uses: (.*)/g)].map(
      ([, action = '']) => action,
    );
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((action) => !/^[\w-]+(?:\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
  });

  test('may only read, unless a job says otherwise', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  test('leaves no token in the checkout', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.map(({ with: { 'persist-credentials': kept } }) => kept)).toEqual(checkouts.map(() => false));
  });

  test('asks for a token of identity only in jobs that prove who they are', () => {
    const proves = (run = '') => /npm publish .*--provenance|mcp-publisher login github-oidc/.test(run);
    for (const [name, job] of Object.entries(jobs))
      expect(job.permissions['id-token'] === 'write', name).toBe(job.steps.some(({ run }) => proves(run)));
  });

  test('runs nothing of the repository, nor of a package, in a job that may write', () => {
    const writing = Object.values(jobs).filter(({ permissions }) => Object.values(permissions).includes('write'));
    const commands = writing.flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.split('\n')));
    const runs = /\bnpx\b|\bnode\b|\bdocker (?:build|run)\b|\bnpm (?!ci --ignore-scripts$|publish .*--ignore-scripts )/;
    expect(commands.filter((command) => runs.test(command.trim()))).toEqual([]);
    expect(writing.flatMap(({ steps }) => steps).filter(({ uses }) => uses?.includes('/build-push-action@'))).toEqual(
      [],
    );
  });

  test('runs no download that was not compared with a known hash', () => {
    const downloads = steps.filter(({ run = '' }) => /\bcurl\b|\bwget\b/.test(run));
    expect(downloads.filter(({ run = '' }) => !/sha256sum --check --strict\n\s*tar /.test(run))).toEqual([]);
    expect(downloads.filter(({ run = '' }) => /latest/.test(run))).toEqual([]);
  });
});

test('releases are published by nobody but the workflow of a tag', () => {
  expect(
    files.filter((file) => /npm publish|mcp-publisher publish/.test(readFileSync(`${folder}/${file}`, 'utf8'))),
  ).toEqual(['release.yml']);
});
