import { createHttpClient, type Proxies } from '../transport/http-client.js';
import { createSignedClients, type SignedClientDependencies } from '../transport/signed-client.js';
import { createCallTool } from './call-tool.js';
import type { CallDependencies, CallTool } from './context.js';
import { createSecretFiles } from './insert-secrets.js';

/** The dependencies of calls, but for those that are made behind the door. */
export type CallingDependencies = Omit<CallDependencies, 'openClient' | 'secretFiles'>;

export interface SenderOptions extends CallingDependencies, Omit<SignedClientDependencies, 'httpClient'> {
  readonly proxies: Proxies;
  readonly secretsDir: string | undefined;
}

/** Carries out calls, and keeps the connections that they share. */
export interface Sender {
  readonly call: CallTool;
  close(): Promise<void>;
}

/** Everything that only calls need. It is behind one door (src/runtime.ts), so that it is loaded as a whole or not at all. */
export function createSender(options: SenderOptions): Sender {
  const httpClient = createHttpClient(options.proxies);
  const openClient = createSignedClients({ ...options, httpClient });
  const secretFiles = createSecretFiles(options.secretsDir);
  return { call: createCallTool({ ...options, openClient, secretFiles }), close: () => httpClient.close() };
}
