import * as z from 'zod';
import type { Client } from '../mcp/client.js';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';

/** The content of a sealed session ID. Only protocols before 2026-07-28 have sessions. */
export interface McpSession {
  /** Unique among the sessions of one caller. The client knows only the sealed ID that contains this ID. */
  readonly id: string;
  readonly client: Client;
}

const schema = lazy(() =>
  z.object({
    id: z.string(),
    client: z.object({ name: z.string(), form: z.boolean(), url: z.boolean(), views: z.boolean() }),
  }),
);

/** Longer session IDs are not read (characters). The IDs that this server issues are shorter. */
const longest = 2048;

/**
 * Issues and reads session IDs. A session ID is an `McpSession`, sealed for its caller. So this server keeps no state, and any replica
 * with the same key can read the ID. An ID alone gives no access. IDs never expire, because clients continue to send an ID that was refused
 * and do not start a new session (https://github.com/modelcontextprotocol/typescript-sdk/issues/1708).
 */
export function createMcpSessions(stateKeys: SealingKeys, newId: () => string) {
  const sealOf = (caller: string) =>
    createSeal(stateKeys, { purpose: 'cloudops session', associatedData: caller, longest });
  return {
    /** Returns the sealed ID of a new session. `caller` is empty if callers are not authenticated. */
    begin: (caller: string, client: Client): string => sealOf(caller).seal(JSON.stringify({ id: newId(), client })),
    /** Returns the session of a sealed ID; undefined if the ID was issued to another caller or with another key. */
    find(caller: string, sealedId: string | undefined): McpSession | undefined {
      const text = sealedId === undefined ? undefined : sealOf(caller).open(sealedId);
      return text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
    },
  };
}
