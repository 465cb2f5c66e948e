import * as z from 'zod';
import type { Client } from '../mcp/client.js';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';

/** A session of a protocol before 2026-07-28, as its ID tells. */
export interface McpSession {
  /** Tells it apart from others of the same caller. */
  readonly id: string;
  readonly client: Client;
}

/** Begins sessions, and reads the IDs that clients bring back. */
export type McpSessions = ReturnType<typeof createMcpSessions>;

const schema = lazy(() =>
  z.object({
    id: z.string(),
    client: z.object({ name: z.string(), form: z.boolean(), url: z.boolean(), views: z.boolean() }),
  }),
);

/** Longer than any ID that is given out. */
const longest = 2048;

/**
 * The ID of a session holds what the client declared, sealed for its caller: nothing is kept, and any replica with the same key reads it.
 * It opens nothing by itself and does not expire, because clients keep an ID that is refused and never begin anew
 * (https://github.com/modelcontextprotocol/typescript-sdk/issues/1708).
 */
export function createMcpSessions(stateKeys: SealingKeys, newId: () => string) {
  const sealOf = (caller: string) =>
    createSeal(stateKeys, { purpose: 'cloudops session', associatedData: caller, longest });
  return {
    /** The ID of a new session. `caller` is empty where callers have no names. */
    begin: (caller: string, client: Client): string => sealOf(caller).seal(JSON.stringify({ id: newId(), client })),
    /** The session of an ID; undefined if it is not one of this caller and of a server with the same key. */
    find(caller: string, id: string | undefined): McpSession | undefined {
      const text = id === undefined ? undefined : sealOf(caller).open(id);
      return text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
    },
  };
}
