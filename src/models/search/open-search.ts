/** Opens the search over all operations of some services. The index is built once for a set of models, in the background, and cached in a file. */
import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { digestOf } from '../../util/digest.js';
import { errorName, type Log } from '../../util/log.js';
import { attempt } from '../../util/objects.js';
import { defined } from '../../util/safe-text.js';
import { openModel } from '../from-model.js';
import { UnusableFile } from '../model-settings.js';
import type { ServiceSource, ServiceSources } from '../service-sources.js';
import { createIndexBuilder, entriesOf, type GivenEffects, type OperationIndex } from './operation-index.js';
import { readVocabulary, type Vocabulary } from './read-vocabulary.js';
import { createSearch, type OperationSearch } from './search-operations.js';

export interface SearchContext {
  /** Version of this program, because each version may index differently. */
  readonly version: string;
  /** Returns the folder for the index, which only this user can open. Without one, each process builds it. */
  readonly cacheFolder: () => string | undefined;
  readonly log: Log;
}

export type SearchState =
  | { readonly kind: 'ready'; readonly search: OperationSearch }
  | { readonly kind: 'building'; readonly services: number; readonly of: number };

export type ServiceSearch = ReturnType<typeof createServiceSearch>;

/** The search over all services, whose index is built when it is first needed. */
export function createServiceSearch(
  sources: ServiceSources,
  effects: GivenEffects,
  { version, cacheFolder, log }: SearchContext,
) {
  let services = 0;
  let opening: Promise<SearchState> | undefined;

  const operationsOf = (service: string, { folder, model: path }: ServiceSource, vocabulary: Vocabulary) =>
    openModel(folder, path).then(
      (model) => entriesOf({ service, model, effects }, vocabulary),
      (error) => {
        if (!(error instanceof UnusableFile)) throw error;
        log('warn', 'models', { service, message: defined(error.message) });
        return [];
      },
    );
  const build = async (vocabulary: Vocabulary): Promise<OperationIndex> => {
    const { add, index } = createIndexBuilder();
    services = 0;
    for (const [service, source] of sources) {
      for (const operation of await operationsOf(service, source, vocabulary)) {
        add(operation);
        // Other work runs in between.
        if (index.entries.length % 20 === 0) await setImmediate();
      }
      services += 1;
      if (services % 25 === 0 || services === sources.size)
        log('info', 'models', { indexed: services, of: sources.size });
    }
    return index;
  };
  /** Returns the file for the index, whose name changes with the content of the models. They are not read for it. */
  const cacheFile = async (): Promise<CacheFile | undefined> => {
    const folder = cacheFolder();
    if (folder === undefined) return undefined;
    const paths = [...sources].map(([service, { folder, model }]) => [service, resolve(folder, model)] as const);
    const models = paths.map(async ([service, path]) => {
      const status = await stat(path).catch(() => undefined);
      return [service, status?.size, status?.mtimeMs];
    });
    return {
      folder,
      beginning: `operations-${digestOf(paths)}-`,
      ending: `${digestOf([version, await Promise.all(models), [...effects]])}.index`,
    };
  };
  const openSearch = async (): Promise<SearchState> => {
    const vocabulary = readVocabulary();
    const file = await cacheFile();
    const cached = file && (await readCache(pathOf(file)));
    const index = cached ?? (await build(vocabulary));
    if (file !== undefined && cached === undefined) await writeCache(file, index);
    return { kind: 'ready', search: createSearch(index, vocabulary) };
  };
  const start = (): Promise<SearchState> => {
    opening ??= openSearch().catch((error) => {
      opening = undefined;
      log('error', 'models', { error: errorName(error) });
      throw error;
    });
    // The rejection reaches a call that still waits, if there is one.
    opening.catch(() => undefined);
    return opening;
  };

  return {
    search: (): Promise<SearchState> =>
      Promise.race<SearchState>([
        start(),
        // Clients give up after 30 to 60 seconds.
        delay(20_000, undefined, { ref: false }).then(() => ({
          kind: 'building',
          services,
          of: sources.size,
        })),
      ]),
    /** Builds the index in the background, unless it is cached. Never rejects. */
    prepare: async (): Promise<void> => {
      const file = await cacheFile();
      await access(file === undefined ? '' : pathOf(file)).catch(() => void start());
    },
  };
}

interface CacheFile {
  readonly folder: string;
  /** The same for all versions of a set of models. */
  readonly beginning: string;
  readonly ending: string;
}

const pathOf = ({ folder, beginning, ending }: CacheFile): string => join(folder, beginning + ending);

/** Bytes of the hash before the index. */
const hashLength = 32;
const hashOf = (data: Buffer): Buffer => createHash('sha256').update(data).digest();

/** Undefined if there is no file that only this user can change or read, or if it is damaged. */
async function readCache(path: string): Promise<OperationIndex | undefined> {
  const file = await open(path).catch(() => undefined);
  try {
    const stats = await file?.stat();
    if (file === undefined || stats === undefined || stats.size > 200_000_000) return undefined;
    // On Windows, the folder is already private.
    const isOwn = process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o077) === 0);
    const content = isOwn ? await file.readFile() : Buffer.of();
    const data = content.subarray(hashLength);
    const isWhole = content.subarray(0, hashLength).equals(hashOf(data));
    // Another version of Node.js may have written the file.
    return isWhole ? attempt((): OperationIndex => deserialize(data), undefined) : undefined;
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

/** Without a cache, the next start builds the index again. Removes the index of earlier versions of the models. */
async function writeCache(file: CacheFile, index: OperationIndex): Promise<void> {
  const { folder, beginning, ending } = file;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Another process may write the same file.
    const draft = join(folder, randomUUID());
    const data = serialize(index);
    await writeFile(draft, Buffer.concat([hashOf(data), data]), { mode: 0o600, flag: 'wx' });
    await rename(draft, pathOf(file));
    const earlier = (await readdir(folder)).filter((name) => name.startsWith(beginning) && !name.endsWith(ending));
    for (const name of earlier) await rm(join(folder, name), { force: true });
  } catch {
    // The folder may be read-only, or the disk full.
  }
}
