/** Opens the search over all operations of some services. The index is built once for a set of models, and cached in a file. */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Effect } from '../../tools/define-operation.js';
import { digestOf } from '../../util/digest.js';
import { isObject, parseJson } from '../../util/objects.js';
import type { Model } from '../model.js';
import { createIndexBuilder, entriesOf, indexData, type OperationIndex, restoreIndex } from './operation-index.js';
import { readVocabulary, type Vocabulary } from './read-vocabulary.js';
import { createSearch, type OperationSearch } from './search-operations.js';

/** A service whose operations the search finds. */
export interface SearchedService {
  readonly service: string;
  /** Changes with the content of the model's files. */
  readonly fingerprint: string;
  /** The effects of some operations, by names such as `ec2:DescribeVolumes`. The others are guessed. */
  readonly effects?: ReadonlyMap<string, Effect>;
  /** Undefined if the model cannot be used. Its operations are not found then. */
  load(): Promise<Model | undefined>;
}

interface SearchOptions {
  readonly services: readonly SearchedService[];
  /** Version of this program, because each version may index differently. */
  readonly version: string;
  /** Folder for the cache, which only this user can open. Without one, the index is built at each start. */
  readonly cacheFolder?: string | undefined;
  /** Called after each service of an index that is being built. */
  readonly onProgress?: ((progress: { readonly services: number; readonly of: number }) => void) | undefined;
}

/** Opens the search. Fails only if a model's `load` fails. */
export async function openSearch(options: SearchOptions): Promise<OperationSearch> {
  const { cacheFolder } = options;
  const vocabulary = readVocabulary();
  const digest = digestFor(options);
  const cached = cacheFolder === undefined ? undefined : await readCache(cacheFolder, digest);
  if (cached !== undefined) return createSearch(cached, vocabulary);

  const index = await buildIndex(options, vocabulary);
  if (cacheFolder !== undefined) await writeCache(cacheFolder, digest, index);
  return createSearch(index, vocabulary);
}

const digestFor = ({ services, version }: SearchOptions): string =>
  digestOf([version, services.map(({ service, fingerprint }) => [service, fingerprint])]);

/** True if a file in the cache has the index. */
export const isIndexCached = (options: SearchOptions): Promise<boolean> =>
  access(fileIn(options.cacheFolder ?? '', digestFor(options))).then(
    () => true,
    () => false,
  );

const fileIn = (folder: string, digest: string): string => join(folder, `operations-${digest}.json`);

/** Number of operations between two pauses, in which other work runs. */
const batch = 20;

async function buildIndex({ services, onProgress }: SearchOptions, vocabulary: Vocabulary): Promise<OperationIndex> {
  const builder = createIndexBuilder();
  let count = 0;
  for (const [number, { service, effects, load }] of services.entries()) {
    const model = await load();
    if (model === undefined) continue;
    for (const operation of entriesOf({ service, model, effects }, vocabulary)) {
      builder.add(operation);
      count += 1;
      if (count % batch === 0) await setImmediate();
    }
    onProgress?.({ services: number + 1, of: services.length });
  }
  return builder.finish();
}

const cacheFile = /^operations-[0-9a-f]{64}\.json$/;
/** Number of files that are kept, because a user may have several sets of models. */
const keptFiles = 4;
/** Bytes. */
const largestCache = 200_000_000;

/** Undefined if there is no file of this user for the digest, or if it cannot be used. */
async function readCache(folder: string, digest: string): Promise<OperationIndex | undefined> {
  try {
    const file = await open(fileIn(folder, digest));
    try {
      const stats = await file.stat();
      if (!isOwn(stats) || stats.size > largestCache) return undefined;
      const json = parseJson(await file.readFile('utf8'));
      return isObject(json) && json.digest === digest ? restoreIndex(json.index) : undefined;
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** True for a file that no other user can change or read. On Windows, the folder is already private. */
const isOwn = ({ mode, uid }: Stats): boolean =>
  process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0);

/** Without a cache, the next start builds the index again. */
async function writeCache(folder: string, digest: string, index: OperationIndex): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = fileIn(folder, digest);
    // Another process may write the same file.
    const draft = `${file}.${randomUUID()}`;
    await writeFile(draft, JSON.stringify({ digest, index: indexData(index) }), { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
    await removeOldest(folder);
  } catch {
    // The folder may be read-only, or the disk full.
  }
}

async function removeOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => cacheFile.test(name));
  const files = await Promise.all(
    names.map(async (name) => ({ name, time: (await stat(join(folder, name))).mtimeMs })),
  );
  files.sort((a, b) => b.time - a.time);
  for (const { name } of files.slice(keptFiles)) await rm(join(folder, name));
}
