import * as z from 'zod';
import type { Client } from '../mcp/client.js';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';

const clientSchema = lazy(() =>
  z.object({ name: z.string(), form: z.boolean(), url: z.boolean(), views: z.boolean() }),
);

/** Longer session IDs are not read (characters). */
const longest = 2048;

/**
 * Issues session IDs: clients, sealed for their callers. IDs never expire, because clients keep a refused ID
 * (https://github.com/modelcontextprotocol/typescript-sdk/issues/1708).
 */
export function createMcpSessions(stateKeys: SealingKeys) {
  const sealOf = (caller: string) =>
    createSeal(stateKeys, { purpose: 'cloudops session', associatedData: caller, longest });
  return {
    begin: (caller: string, client: Client): string => sealOf(caller).seal(JSON.stringify(client)),
    /** Undefined if the ID was issued to another caller or with another key. */
    find(caller: string, sealedId: string | undefined): Client | undefined {
      const text = sealedId === undefined ? undefined : sealOf(caller).open(sealedId);
      return text === undefined ? undefined : clientSchema().safeParse(JSON.parse(text)).data;
    },
  };
}
