import type { Proxies } from './http-client.js';
import type { Endpoint } from './request.js';
import type { SignedClient, SignedClientDependencies, SignedClientOptions } from './signed-client.js';

/** Makes the signed client of a call. */
export type OpenClient = (endpoint: Endpoint, options: SignedClientOptions) => Promise<SignedClient>;

/** The code that sends requests could not be loaded, so that nothing was sent. */
export class TransportUnavailable extends Error {}

/**
 * Loads the code that sends requests with the first call: a server whose tools are only listed starts sooner and needs less
 * memory without HTTP, signing and XML. Rejects with `TransportUnavailable` if it cannot be loaded; the next call tries again.
 */
export function createLazyTransport(
  proxies: Proxies,
  dependencies: Omit<SignedClientDependencies, 'httpClient'>,
): { readonly open: OpenClient; close(): Promise<void> } {
  let loading: ReturnType<typeof load> | undefined;
  async function load() {
    // The HTTP parser is WebAssembly. V8's optimising compiler takes 30 MiB for it, and it is as fast without.
    (await import('node:v8')).setFlagsFromString('--liftoff-only');
    const [{ createHttpClient }, { createSignedClients }] = await Promise.all([
      import('./http-client.js'),
      import('./signed-client.js'),
    ]);
    const httpClient = createHttpClient(proxies);
    return { httpClient, open: createSignedClients({ ...dependencies, httpClient }) };
  }
  return {
    open: async (endpoint, options) => {
      loading ??= load().catch((error: unknown) => {
        loading = undefined;
        throw new TransportUnavailable('a part of this server cannot be loaded', { cause: error });
      });
      const { open } = await loading;
      return open(endpoint, options);
    },
    close: async () => (await loading?.catch(() => undefined))?.httpClient.close(),
  };
}
