import * as z from 'zod';
import type { Client } from '../mcp/client.js';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';

/** The content of a sealed session ID. */
const clientSchema = lazy(() =>
  z.object({ name: z.string(), form: z.boolean(), url: z.boolean(), views: z.boolean() }),
);

/** Longer session IDs are not read (characters). The IDs that this server issues are shorter. */
const longest = 2048;

/**
 * Issues and reads session IDs, which only protocols before 2026-07-28 have. A session ID is a client, sealed for its caller. So this server keeps
 * no state, and any replica with the same key can read the ID. An ID alone gives no access. IDs never expire, because clients continue to send an
 * ID that was refused and do not start a new session (https://github.com/modelcontextprotocol/typescript-sdk/issues/1708).
 */
export function createMcpSessions(stateKeys: SealingKeys) {
  const sealOf = (caller: string) =>
    createSeal(stateKeys, { purpose: 'cloudops session', associatedData: caller, longest });
  return {
    /** Returns the sealed ID of a new session. `caller` is empty if callers are not authenticated. */
    begin: (caller: string, client: Client): string => sealOf(caller).seal(JSON.stringify(client)),
    /** Returns the client of a sealed ID; undefined if the ID was issued to another caller or with another key. */
    find(caller: string, sealedId: string | undefined): Client | undefined {
      const text = sealedId === undefined ? undefined : sealOf(caller).open(sealedId);
      return text === undefined ? undefined : clientSchema().safeParse(JSON.parse(text)).data;
    },
  };
}
