import {
  Client,
  type ElicitRequestFormParams,
  type ElicitResult,
  InMemoryTransport,
} from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { type SandboxOptions, startSandbox } from '../../sandbox/sandbox.js';
import type { ConsentMode } from '../../src/calls/account.js';
import type { Policy, Principal } from '../../src/calls/policy.js';
import type { Changes } from '../../src/changes/store.js';
import { createServer } from '../../src/server.js';
import { testCaller } from './caller.js';

export const eras = [
  ['2025', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
] as const;
export type Era = (typeof eras)[number][1];

export interface SessionOptions extends Partial<SandboxOptions> {
  readonly confirm?: ConsentMode;
  readonly store?: Changes;
  /** The user's reply to a question. Without it, the client cannot ask. */
  readonly answer?: (question: ElicitRequestFormParams) => ElicitResult | Promise<ElicitResult>;
  /** The name that the client gives itself. */
  readonly clientName?: string;
}

/** A real client and the real server in this process, on a sandbox whose clock stands still. */
export async function connectInProcess(
  era: Era,
  policy: Policy = { readOnly: false, tools: undefined },
  { confirm = 'off', store, answer, clientName: name = 'test', ...options }: SessionOptions = {},
) {
  const now = options.now ?? (() => new Date('2026-11-20T12:00:00Z'));
  const keys = { accessKeyId: 'SANDBOX', secretAccessKey: 'sandbox' };
  const sandbox = await startSandbox({ ...options, now, keys });
  const caller = testCaller('', {
    cloud: sandbox.cloud,
    now,
    policy,
    confirm,
    ...(store !== undefined && { store }),
  });
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name, version: '1' }, { capabilities, versionNegotiation: { mode: era } });
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) =>
      'requestedSchema' in params ? answer(params) : { action: 'cancel' },
    );
  const disconnect = await connectOverStdio(client, caller);
  return {
    client,
    sandbox,
    close: async () => {
      await disconnect();
      await sandbox.close();
    },
  };
}

/** Connects a client to the server of a caller, as over stdio. Resolves with a function that ends both. */
export async function connectOverStdio(client: Client, caller: ReturnType<typeof testCaller>, principal?: Principal) {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(() => createServer({ ...caller.server, principal }), { transport: serverSide });
  await client.connect(clientSide);
  return async () => {
    await client.close();
    await handle.close();
    await caller.close();
  };
}
