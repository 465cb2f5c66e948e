import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Effect } from '../tools/define-operation.js';
import { errorName, type Log } from '../util/log.js';
import { defined } from '../util/safe-text.js';
import { openModel } from './from-model.js';
import { isIndexCached, openSearch, type SearchedService } from './search/open-search.js';
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

/** The search over all services, whose index is built when it is first needed. */
export interface ServiceSearch {
  /** Waits for the index, for a while. */
  search(): Promise<SearchState>;
  /** Builds the index in the background, unless it is cached. Never rejects. */
  prepare(): Promise<void>;
}

/** The effects that settings and tools give to operations, by names such as `ec2:DescribeVolumes`. */
export type GivenEffects = ReadonlyMap<string, Effect>;

export function createServiceSearch(
  sources: ServiceSources,
  effects: GivenEffects,
  { version, cacheFolder, log }: SearchContext,
): ServiceSearch {
  let progress = { services: 0, of: sources.size };
  let opening: Promise<SearchState> | undefined;

  const servicesOf = (): Promise<readonly SearchedService[]> =>
    Promise.all(
      [...sources].map(async ([service, source]) => {
        const given = new Map([...effects].filter(([name]) => name.startsWith(`${service}:`)));
        return {
          service,
          effects: given,
          fingerprint: JSON.stringify([await fingerprintOf(source), ...given]),
          load: () =>
            openModel(source.folder, source.model).catch((error: unknown) => {
              if (!(error instanceof UnusableFile)) throw error;
              log('warn', 'models', { service, message: defined(error.message) });
              return undefined;
            }),
        };
      }),
    );
  const onProgress = (now: typeof progress) => {
    progress = now;
    const isWorthALine = now.services % servicesPerLine === 0 || now.services === now.of;
    if (isWorthALine) log('info', 'models', { indexed: now.services, of: now.of });
  };
  const open = async (): Promise<SearchState> => {
    const options = { services: await servicesOf(), version, cacheFolder: cacheFolder(), onProgress };
    return { kind: 'ready', search: await openSearch(options) };
  };
  const start = (): Promise<SearchState> => {
    opening ??= open().catch((error) => {
      // The next call tries again.
      opening = undefined;
      log('error', 'models', { error: errorName(error) });
      throw error;
    });
    // The rejection reaches a call that still waits, if there is one.
    opening.catch(() => undefined);
    return opening;
  };

  return {
    search: () =>
      Promise.race([
        start(),
        delay(waitMs, undefined, { ref: false }).then(() => ({ kind: 'building' as const, ...progress })),
      ]),
    prepare: async () => {
      const isCached = await isIndexCached({ services: await servicesOf(), version, cacheFolder: cacheFolder() });
      if (!isCached) start();
    },
  };
}

/** Changes with the content of a model, without reading it. */
async function fingerprintOf({ folder, model }: ServiceSource): Promise<string> {
  const path = resolve(folder, model);
  const status = await stat(path).catch(() => undefined);
  return JSON.stringify([path, status?.size, status?.mtimeMs]);
}
