import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorName, type Log } from '../util/log.js';
import { defined } from '../util/safe-text.js';
import { openModel } from './from-model.js';
import { openSearch } from './search/open-search.js';
import type { OperationSearch } from './search/search-operations.js';
import type { ServiceSource, ServiceSources } from './service-sources.js';
import { UnusableFile } from './settings-schema.js';

/** This file opens the search over the operations of all services. Its index is built in the background, and cached. */

export interface SearchContext {
  readonly version: string;
  /** Returns the folder for the index. Without one, each process builds it. */
  readonly cacheFolder: () => string | undefined;
  readonly log: Log;
}

/** The search, or how far the index is. */
export type SearchState =
  | { readonly kind: 'ready'; readonly search: OperationSearch }
  | { readonly kind: 'building'; readonly services: number; readonly of: number };

/** How long a call waits for the index (milliseconds). Clients give up after 30 to 60 seconds. */
const waitMs = 20_000;
/** Services between two lines of the log. */
const servicesPerLine = 25;

/** Returns the function that waits for the search, and starts it at the first call. */
export function createServiceSearch(
  sources: ServiceSources,
  { version, cacheFolder, log }: SearchContext,
): () => Promise<SearchState> {
  let progress = { services: 0, of: sources.size };
  let opening: Promise<SearchState> | undefined;

  const open = async (): Promise<SearchState> => {
    const services = await Promise.all(
      [...sources].map(async ([service, source]) => ({
        service,
        fingerprint: await fingerprintOf(source),
        load: () =>
          openModel(source.folder, source.model).catch((error: unknown) => {
            if (!(error instanceof UnusableFile)) throw error;
            log('warn', 'models', { service, message: defined(error.message) });
            return undefined;
          }),
      })),
    );
    const onProgress = (now: typeof progress) => {
      progress = now;
      const isWorthALine = now.services % servicesPerLine === 0 || now.services === now.of;
      if (isWorthALine) log('info', 'models', { indexed: now.services, of: now.of });
    };
    return { kind: 'ready', search: await openSearch({ services, version, cacheFolder: cacheFolder(), onProgress }) };
  };

  return () => {
    opening ??= open().catch((error) => {
      // The next call tries again.
      opening = undefined;
      log('error', 'models', { error: errorName(error) });
      throw error;
    });
    // The rejection reaches a call that still waits, if there is one.
    opening.catch(() => undefined);
    return Promise.race([
      opening,
      delay(waitMs, undefined, { ref: false }).then(() => ({ kind: 'building' as const, ...progress })),
    ]);
  };
}

/** Changes with the content of a model, without reading it. */
async function fingerprintOf({ folder, model }: ServiceSource): Promise<string> {
  const path = resolve(folder, model);
  const status = await stat(path).catch(() => undefined);
  return JSON.stringify([path, status?.size, status?.mtimeMs]);
}
