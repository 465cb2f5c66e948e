import { createHash } from 'node:crypto';
import type { Accounts, ConsentMode } from '../../src/calls/account.js';
import { approveScope } from '../../src/calls/policy.js';
import type { Changes } from '../../src/changes/store.js';
import type { SignIn } from '../../src/http/sign-in.js';
import { signInByToken } from '../../src/http/sign-in.js';
import { authenticateByTokensFile } from '../../src/http/tokens-file.js';
import type { Language } from '../../src/util/language.js';
import { memoryStore } from './caller.js';
import { answerOf, post, serveInProcess, toolCall } from './http-in-process.js';
import { openPolicy } from './operations.js';
import { answered, scriptedClient } from './scripted-client.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
export const stateKey = 'k'.repeat(32);
export const restore = { backupId: 'a'.repeat(32), instanceId: 'wiki' };

/** A change with more values than one question holds. */
export const tooLong = {
  tool: 'provision_kube_resource_group',
  args: {
    resourceGroupName: 'big',
    adminWorkstation: { keyName: 'k'.repeat(100) },
    adminCluster: {
      keyName: 'c'.repeat(100),
      // Longer lists are shortened, so that their questions fit.
      nodePools: Array.from({ length: 5 }, (_, index) => ({
        name: `pool-${index}-${'n'.repeat(30)}`,
        region: `region-${index}-${'r'.repeat(20)}`,
        availabilityZone: `zone-${index}-${'z'.repeat(20)}`,
        instanceType: 'h2-large16',
        nodeCount: 1,
        volumeSize: 100,
      })),
    },
  },
} as const;

export interface DecisionsSetup {
  readonly confirm?: ConsentMode;
  readonly publicUrl?: string;
  readonly statusWaitMs?: number;
  readonly port?: number;
  readonly signIn?: SignIn;
  /** In place of one account without a name. */
  readonly accounts?: Accounts;
  /** Wraps the table of changes. */
  readonly wrapStore?: (store: Changes) => Changes;
  /** Called when a request reaches the cloud, before the cloud answers. */
  readonly onRequest?: () => Promise<void>;
  /** False if the server has no page for decisions. */
  readonly hasPage?: boolean;
  readonly isSandbox?: boolean;
  readonly language?: Language;
}

/**
 * A server with the page for decisions, and a tokens file: alice and mallory call, bob and carol decide. Tokens are the names. The clock
 * is the test's.
 */
export async function serveDecisions({
  confirm = 'approval',
  publicUrl = 'https://cloudops.example.com',
  port = 0,
  statusWaitMs = 0,
  signIn,
  accounts: namedAccounts,
  wrapStore = (store) => store,
  onRequest = async () => undefined,
  hasPage = true,
  isSandbox = false,
  language,
}: DecisionsSetup = {}) {
  let waitedMs = 0;
  const now = () => new Date(Date.now() + waitedMs);
  let text = [
    `alice ${sha256('alice')}`,
    `mallory ${sha256('mallory')}`,
    `bob ${sha256('bob')} ${approveScope}`,
    `carol ${sha256('carol')} ${approveScope}`,
  ].join('\n');
  let isReadable = true;
  const read = async () => {
    if (!isReadable) throw new Error('EACCES');
    return text;
  };
  const authenticate = authenticateByTokensFile({ text, read, now, log: () => undefined });
  const { openClient, requests } = scriptedClient(async () => {
    await onRequest();
    return answered(200, { instance: { instanceId: 'wiki' } });
  });
  const store = wrapStore(memoryStore(now));
  const addressOf = (id: string) => `${publicUrl}/decisions/${id}/`;
  const http = await serveInProcess({
    authenticate,
    now,
    listen: { host: '127.0.0.1', port },
    hosts: ['127.0.0.1', 'localhost', new URL(publicUrl).hostname],
    caller: {
      ...(namedAccounts && { accounts: namedAccounts }),
      confirm,
      policy: { ...openPolicy, extensions: ['s3'] },
      store,
      planLifetimeMs: 24 * 3_600_000,
      statusWaitMs,
      ...(hasPage && { page: { kind: 'signIn', addressOf, announce: () => undefined } }),
      openClient,
      now,
      stateKey,
    },
    decisions: ({ logged }) => ({
      publicUrl,
      isSandbox,
      language,
      store,
      signIn: signIn ?? signInByToken(authenticate, now),
      callerOf: async ({ caller }) => (caller === undefined ? undefined : authenticate.callerNamed(caller)),
      log: (level, event, fields) => logged.push({ level, event, fields }),
    }),
  });
  /** A call as an agent makes it. */
  const callTool = async (tool: string, args: object, token = 'alice'): Promise<Record<string, unknown>> => {
    const response = await post(http.url, toolCall(tool, args), { authorization: `Bearer ${token}` });
    const { result } = await answerOf(response);
    return Object(result?.structuredContent);
  };
  const ask = (args: object = {}, token?: string) => callTool('restore_instance', { ...restore, ...args }, token);
  const get = (changeId: unknown, token?: string) => callTool('get_change', { changeId }, token);
  const withdraw = (changeId: unknown, token?: string) => callTool('withdraw_change', { changeId }, token);
  return {
    ...http,
    publicUrl,
    store,
    requests,
    callTool,
    ask,
    get,
    withdraw,
    now,
    pass: (milliseconds: number) => {
      waitedMs += milliseconds;
    },
    setTokens: (change: (text: string) => string) => {
      text = change(text);
      waitedMs += 2000;
    },
    setTokensReadable: (readable: boolean) => {
      isReadable = readable;
      waitedMs += 2000;
    },
  };
}

export type Decisions = Awaited<ReturnType<typeof serveDecisions>>;

/** A browser without a screen. It keeps cookies and follows no redirect. */
export function browserOf({ origin, publicUrl }: Pick<Decisions, 'origin' | 'publicUrl'>) {
  const pageOrigin = new URL(publicUrl).origin;
  const cookies = new Map<string, string>();
  const send = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${origin}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie !== '' && { cookie }), ...init.headers },
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  const get = (path: string) => send(path);
  const form = (
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string> = { origin: pageOrigin },
  ) => send(path, { method: 'POST', body: new URLSearchParams(fields), headers });
  const json = (path: string, body: unknown, headers: Record<string, string>) =>
    send(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const csrfOf = async (id: string) =>
    /name="csrf-token" content="([^"]+)"/.exec(await (await get(`/decisions/${id}/`)).text())?.[1] ?? '';
  return {
    cookies,
    get,
    form,
    json,
    csrfOf,
    signIn: (token: string, query = '') => form(`/decisions/sign-in${query}`, { token }),
    /** A click on a plan's page. */
    decide: async (id: string, decision: string, headers: Record<string, string> = {}, given: object = {}) =>
      json(
        `/decisions/${id}/tool`,
        { name: 'decide_change', arguments: { ticket: id, decision, ...given } },
        { origin: pageOrigin, 'x-csrf-token': await csrfOf(id), ...headers },
      ),
    /** What a change's page shows: its note, and the tool result for the view. */
    shown: async (id: string) => {
      const headers = { origin: pageOrigin, 'x-csrf-token': await csrfOf(id) };
      return Object(await (await json(`/decisions/${id}/call`, {}, headers)).json());
    },
  };
}
