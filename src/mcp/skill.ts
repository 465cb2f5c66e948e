import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { quote } from '../util/quote.js';

/** The Skills extension (SEP-2640). */
export const skillsExtension = 'io.modelcontextprotocol/skills';

/** The skill as a resource, read from disk at each request. */
export const skillResource = {
  listing: {
    uri: 'skill://cloudops/SKILL.md',
    name: 'cloudops',
    title: 'Skill',
    description: 'How to report uploads and carry out changes with the tools of this server',
    mimeType: 'text/markdown',
  },
  text: readSkill,
};

/** The cache lifetime in answers since protocol 2026-07-28. */
export interface CacheLife {
  readonly ttlMs: number;
  readonly cacheScope: 'private';
}

/** Serves the Skills extension. Only requests with an envelope (2026-07-28) get `life`. */
export function serveSkill(server: Server, life: CacheLife): void {
  const { list, get } = paramsSchemas();
  const { uri } = skillResource.listing;
  server.setRequestHandler('skills/list', { params: list }, async (_params, { mcpReq: { envelope } }) => ({
    skills: [await skillEntry()],
    ...(envelope !== undefined && life),
  }));
  server.setRequestHandler('skills/get', { params: get }, async (params, { mcpReq: { envelope } }) => {
    if (params.uri !== uri)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `No skill: ${quote(params.uri, 200)}. There is ${uri}.`);
    return { skill: await skillEntry(), ...(envelope !== undefined && life) };
  });
}

const paramsSchemas = lazy(() => ({
  list: z.looseObject({ cursor: z.string().optional() }),
  get: z.looseObject({ uri: z.string() }),
}));

async function skillEntry() {
  const text = await readSkill();
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const { uri } = skillResource.listing;
  return { uri, frontmatter: frontmatterOf(text), resources: [{ uri, digest, size: Buffer.byteLength(text) }] };
}

/** The first path starts at the bundle's main file, the second at its chunks or the source. */
function readSkill(): Promise<string> {
  const read = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');
  return read('../skills/cloudops/SKILL.md').catch(() => read('../../skills/cloudops/SKILL.md'));
}

/** Parses what scripts/skill-doc.mjs writes. */
function frontmatterOf(text: string): Readonly<Record<string, unknown>> {
  const [, lines = ''] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
  const fields: Record<string, unknown> = {};
  /** Indented lines are fields of the last line without a value. */
  let innerFields = fields;
  for (const [, indent, name = '', value] of lines.matchAll(/^( *)([\w-]+):(?: (.*))?$/gm)) {
    const target = indent === '' ? fields : innerFields;
    if (value === undefined) {
      innerFields = {};
      target[name] = innerFields;
    } else {
      target[name] = value.startsWith('"') ? JSON.parse(value) : value;
    }
  }
  return fields;
}
