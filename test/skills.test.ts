import { readdirSync, readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { changeTools, serviceToolNames } from '../src/mcp/server-tools.js';
import { skillsFor } from '../src/mcp/skills.js';
import { operations } from '../src/tools/index.js';
import { listParts } from '../src/tools/list-parts.js';

/** Skills have the form that agentskills.io asks for. `npm run docs` generates the first, and the versions of all. */

describe.each(readdirSync('skills'))('%s', (folder) => {
  const text = readFileSync(`skills/${folder}/SKILL.md`, 'utf8');
  const [, frontmatter = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? [];
  const fields = new Map(
    [...frontmatter.matchAll(/^([\w-]+):(?: (.*))?$/gm)].map(([, name = '', value = '']) => [
      name,
      value.startsWith('"') ? String(JSON.parse(value)) : value,
    ]),
  );

  test('has the fields of the format only', () => {
    expect([...fields.keys()]).toEqual(['name', 'description', 'license', 'compatibility', 'metadata']);
  });

  test('has the name of its folder, as the format allows it', () => {
    expect(fields.get('name')).toBe(folder);
    expect(folder).toMatch(/^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/);
  });

  test('says within the bounds of the format what it is for, and when', () => {
    const { length } = fields.get('description') ?? '';
    expect(length).toBeGreaterThan(100);
    expect(length).toBeLessThanOrEqual(1024);
    expect(fields.get('description')).toContain('Use it when');
    expect(fields.get('compatibility')?.length).toBeLessThanOrEqual(500);
  });

  test('is of the version and licence of the package', () => {
    expect(fields.get('license')).toBe(packageJson.license);
    expect(frontmatter).toContain(`  version: "${packageJson.version}"`);
  });

  test('is short enough to be loaded whole', () => {
    expect(body.split('\n').length).toBeLessThan(500);
    expect(countTokens(body)).toBeLessThan(2000);
  });

  test('is served', () => {
    expect(skillsFor(['abort_multipart_uploads', 'find_operations'])).toContain(folder);
  });
});

describe('a skill for a job', () => {
  const jobs = readdirSync('skills').filter((folder) => folder !== 'cloudops');
  test.each(jobs)('%s names tools that exist, and where to stop', (folder) => {
    const text = readFileSync(`skills/${folder}/SKILL.md`, 'utf8');
    const tools = [...operations.map(({ name }) => name), ...serviceToolNames, ...changeTools.map(({ name }) => name)];
    const named = [...text.matchAll(/`(\w+_\w+)`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((name) => !tools.includes(name))).toEqual([]);
    expect(text).toContain('**Stop');
  });

  test.each(jobs)('%s is of use only with its tools', (folder) => {
    expect(skillsFor([])).not.toContain(folder);
  });
});

describe('cloudops', () => {
  const body = readFileSync('skills/cloudops/SKILL.md', 'utf8');

  test('has the arguments of an upload, the plan before a change, and every tool', () => {
    const section = (title: string) => body.split(/^## /m).find((one) => one.startsWith(title));
    const named = [...(section('Report an upload') ?? '').matchAll(/^- `(\w+)`/gm)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(0);
    expect(Object.keys(listParts.input().shape)).toEqual(expect.arrayContaining(named));
    expect(section('Carry out a change')).toMatch(/^2\. .*planOnly: true[\s\S]*^3\. .*clear yes/m);
    expect(section('Carry out a change')).toMatch(/^Changing things: .* Costing money: .* Before it sends a change/m);
    for (const { name } of operations) expect(body).toContain(name);
  });
});
