import type { Proxies } from './http-client.js';
import type { Sender, SenderDependencies } from './signed-client.js';

/** The code that sends requests could not be loaded, so that nothing was sent. */
export class SenderUnavailable extends Error {
  readonly code = 'SenderUnavailable';
}

/**
 * A sender whose code is loaded with the first call: a server whose tools are only listed starts sooner and needs less
 * memory without HTTP, signing and XML. Rejects with `SenderUnavailable` if it cannot be loaded; the next call tries again.
 */
export function createLazySender(
  proxies: Proxies,
  dependencies: Omit<SenderDependencies, 'httpClient'>,
): { readonly send: Sender; close(): Promise<void> } {
  let loading: ReturnType<typeof load> | undefined;
  async function load() {
    // The HTTP parser is WebAssembly. V8's optimising compiler takes 30 MiB for it, and it is as fast without.
    (await import('node:v8')).setFlagsFromString('--liftoff-only');
    const [{ createHttpClient }, { createSender }] = await Promise.all([
      import('./http-client.js'),
      import('./signed-client.js'),
    ]);
    const httpClient = createHttpClient(proxies);
    return { httpClient, send: createSender({ ...dependencies, httpClient }) };
  }
  return {
    send: async (...call) => {
      loading ??= load().catch((error: unknown) => {
        loading = undefined;
        throw new SenderUnavailable('a part of this server cannot be loaded', { cause: error });
      });
      const { send } = await loading;
      return send(...call);
    },
    close: async () => (await loading?.catch(() => undefined))?.httpClient.close(),
  };
}
