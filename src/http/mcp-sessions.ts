import * as z from 'zod';
import type { Client } from '../mcp/client.js';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';

/** A session of a protocol before 2026-07-28, as read from its ID. */
export interface McpSession {
  /** Unique among the sessions of one caller. */
  readonly id: string;
  readonly client: Client;
}

export type McpSessions = ReturnType<typeof createMcpSessions>;

const schema = lazy(() =>
  z.object({
    id: z.string(),
    client: z.object({ name: z.string(), form: z.boolean(), url: z.boolean(), views: z.boolean() }),
  }),
);

/** Maximum length of a session ID that the server reads. The IDs that it issues are shorter. */
const longest = 2048;

/**
 * Issues and reads session IDs. An ID holds the client's capabilities, sealed for its caller, so that the server keeps no state and any
 * replica with the same key can read it. An ID alone gives no access. It does not expire, because clients keep using a refused ID
 * and never start a new session (https://github.com/modelcontextprotocol/typescript-sdk/issues/1708).
 */
export function createMcpSessions(stateKeys: SealingKeys, newId: () => string) {
  const sealOf = (caller: string) =>
    createSeal(stateKeys, { purpose: 'cloudops session', associatedData: caller, longest });
  return {
    /** Returns the ID of a new session. `caller` is empty if callers are not authenticated. */
    begin: (caller: string, client: Client): string => sealOf(caller).seal(JSON.stringify({ id: newId(), client })),
    /** Returns the session of an ID; undefined if the ID was issued to another caller or with another key. */
    find(caller: string, id: string | undefined): McpSession | undefined {
      const text = id === undefined ? undefined : sealOf(caller).open(id);
      return text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
    },
  };
}
