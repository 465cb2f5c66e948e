import { readFile } from 'node:fs/promises';
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { quote } from '../util/quote.js';

/** The Skills extension (SEP-2640). */
export const skillsExtension = 'io.modelcontextprotocol/skills';

interface Skill {
  /** The tool without which the skill is of no use. */
  readonly tool?: string;
  readonly description: string;
}

/** The folders in `skills/`. */
const skillTable: Readonly<Record<string, Skill>> = {
  cloudops: { description: 'How to report uploads and carry out changes with the tools of this server' },
  'clean-up-uploads': {
    tool: 'abort_multipart_uploads',
    description: 'How to find and abort the multipart uploads that nobody finished, and keep them from coming back',
  },
  'drain-dead-letters': {
    tool: 'find_operations',
    description: 'How to look at the messages of a dead-letter queue, and move or delete them without losing one',
  },
  'rotate-a-key': {
    tool: 'find_operations',
    description: 'How to replace an access key by a new one without an outage',
  },
  'snapshot-and-wait': {
    tool: 'find_operations',
    description: 'How to make a snapshot of a volume, and wait until it is complete',
  },
  'unattached-volumes': {
    tool: 'find_operations',
    description: 'How to find the volumes that nothing uses, and delete those that the user names',
  },
};

export const skillsFor = (tools: readonly string[]): readonly string[] =>
  Object.entries(skillTable).flatMap(([skill, { tool }]) => (tool === undefined || tools.includes(tool) ? skill : []));

const addressOf = (skill: string) => `skill://${skill}/SKILL.md`;

/** A skill as a resource, read from disk at each request. */
export const skillResource = (skill: string) => ({
  uri: addressOf(skill),
  name: skill,
  title: `Skill: ${skill.replaceAll('-', ' ')}`,
  description: skillTable[skill]?.description ?? '',
  mimeType: 'text/markdown',
  text: () => readSkill(skill),
});

/** The cache lifetime in answers since protocol 2026-07-28. */
export interface CacheLife {
  readonly ttlMs: number;
  readonly cacheScope: 'private';
}

/**
 * Serves the Skills extension. The SDK's own handlers need `McpServer`.
 * @param life only requests with an envelope (2026-07-28) get it
 */
export function serveSkills(server: Server, skills: readonly string[], life: CacheLife): void {
  const { list, get } = paramsSchemas();
  server.setRequestHandler('skills/list', { params: list }, async (_params, { mcpReq: { envelope } }) => ({
    skills: await Promise.all(skills.map(entryOf)),
    ...(envelope !== undefined && life),
  }));
  server.setRequestHandler('skills/get', { params: get }, async ({ uri }, { mcpReq: { envelope } }) => {
    const skill = skills.find((one) => addressOf(one) === uri);
    if (skill === undefined) {
      const uris = skills.map(addressOf).join(', ');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `No skill: ${quote(uri, 200)}. There are ${uris}.`);
    }
    return { skill: await entryOf(skill), ...(envelope !== undefined && life) };
  });
}

const paramsSchemas = lazy(() => ({
  list: z.looseObject({ cursor: z.string().optional() }),
  get: z.looseObject({ uri: z.string() }),
}));

/** Loads the SDK's reader of skills when a client asks for one, because few clients do. */
async function entryOf(skill: string) {
  const { skillEntry } = await import('./skill-entry.js');
  return skillEntry(skill, { 'SKILL.md': await readSkill(skill) });
}

/** The first path starts at the bundle's main file, the second at its chunks or the source. */
function readSkill(skill: string): Promise<string> {
  const read = (folder: string) => readFile(new URL(`${folder}skills/${skill}/SKILL.md`, import.meta.url), 'utf8');
  return read('../').catch(() => read('../../'));
}
