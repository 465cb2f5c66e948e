import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { connectInProcess, eras } from '../support/in-process.js';

/** The skill is served by the Skills extension, and answers say since 2026-07-28 how long clients may keep them. */

const uri = 'skill://cloudops/SKILL.md';
const text = readFileSync('skills/cloudops/SKILL.md', 'utf8');
const [, frontmatter = ''] = text.split('---\n');
const hour = { ttlMs: 3_600_000, cacheScope: 'private' };
const anything = z.looseObject({});

describe.each(eras)('%s', (name, era) => {
  let session: Awaited<ReturnType<typeof connectInProcess>>;
  beforeAll(async () => {
    session = await connectInProcess(era);
  });
  afterAll(() => session.close());
  const ask = (method: string, params: Record<string, unknown> = {}) =>
    session.client.request({ method, params }, anything);
  const life = name === '2025' ? {} : hour;

  test('the extensions are declared', () => {
    const { extensions } = session.client.getServerCapabilities() ?? {};
    expect(extensions).toEqual({ 'io.modelcontextprotocol/skills': {}, 'io.modelcontextprotocol/tasks': {} });
  });

  test('the skill is listed with its frontmatter, and its file with size and digest', async () => {
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    const skill = { uri, frontmatter: parse(frontmatter), resources: [{ uri, digest, size: Buffer.byteLength(text) }] };
    expect(await ask('skills/list')).toMatchObject({ skills: [skill], ...life });
    expect(await ask('skills/get', { uri })).toMatchObject({ skill, ...life });
    expect((await session.client.readResource({ uri })).contents).toMatchObject([{ uri, text }]);
  });

  test('another skill is not there', async () => {
    await expect(ask('skills/get', { uri: 'skill://other/SKILL.md' })).rejects.toMatchObject({ code: -32602 });
  });

  test.each(['tools/list', 'resources/list', 'resources/templates/list'])(
    '%s may be kept for an hour, journal and configuration not at all',
    async (method) => {
      const { ttlMs, cacheScope } = await ask(method);
      expect({ ttlMs, cacheScope }).toEqual(name === '2025' ? {} : hour);
      const read = await ask('resources/read', { uri: 'cloudops://journal' });
      expect(read.ttlMs).toBe(name === '2025' ? undefined : 0);
    },
  );
});
