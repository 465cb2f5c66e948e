import { hash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { parseJson } from './http.js';

/** A problem that stops the sandbox from starting. The message is a sentence for the user. */
export class SandboxProblem extends Error {
  override readonly name = 'SandboxProblem';
}

const version = 2;

/** The first line of a state file. Access keys and IDs are derived from the seed, and the times of the demo uploads from `started`. */
const originSchema = z.object({
  sandbox: z.literal(version),
  seed: z.string(),
  /** Time of the first start (ISO 8601, UTC). */
  started: z.string(),
});
export type Origin = Omit<z.output<typeof originSchema>, 'sandbox'>;

/** Any later line of a state file: the changes of one request, each with table, key and new record, or null if the record was deleted. */
const changesSchema = z.array(z.tuple([z.string(), z.string(), z.unknown()]).readonly());
export type Change = z.output<typeof changesSchema>[number];

/** The memory of a sandbox: its seed, all changes of records, and the folder with the bodies of objects. */
export type State = ReturnType<typeof createState>;

/** Derives bytes from the seed and the given names. The same seed and names give the same bytes. */
export const derive = ({ origin }: State, ...names: readonly (string | number)[]) =>
  hash('sha256', JSON.stringify([origin.seed, ...names]), 'buffer');

/** The keys and records of a table in a new sandbox. */
export type Seeds<T> = Iterable<readonly [key: string, record: T]>;

/** Records by key. Each change is also passed to the state, which writes it to disk. */
export class Table<T> extends Map<string, T> {
  readonly #queueChange: (key: string, value: T | null) => void;
  /** Loads the seeds, and repeats the earlier changes of this table. Throws a `SandboxProblem` if a record does not fit the schema. */
  constructor(name: string, record: z.ZodType<T>, state: State, seeds: Seeds<NoInfer<T>> = []) {
    super();
    this.#queueChange = (key, value) => state.queueChange([name, key, value]);
    for (const [key, value] of seeds) super.set(key, value);
    for (const [table, key, value] of state.changes) {
      if (table !== name) continue;
      const { data, error } = record.nullable().safeParse(value);
      if (error !== undefined) throw new SandboxProblem(`The sandbox's state has ${name} that cannot be read.`);
      if (data === null) super.delete(key);
      else super.set(key, data);
    }
  }
  override set(key: string, value: T): this {
    this.#queueChange(key, value);
    return super.set(key, value);
  }
  override delete(key: string): boolean {
    if (this.has(key)) this.#queueChange(key, null);
    return super.delete(key);
  }
}

/** The place where a state keeps changes and bodies: files for later starts, or only a temporary folder. */
interface Medium {
  /** Takes the changes. A state file gets them as one line, and the promise resolves when that line is on disk. */
  write(changes: readonly Change[]): Promise<void>;
  /** The folder with the bodies of objects and parts, one file each. */
  folder(): Promise<string>;
  /** True if changes and bodies are kept for later starts. */
  readonly durable: boolean;
  close(): Promise<void>;
}

/**
 * Creates a state on a medium: files that later starts read, or only a temporary folder for the bodies of objects.
 * @param changes the changes of earlier starts, oldest first
 */
function createState(origin: Origin, changes: readonly Change[], medium: Medium) {
  const queuedChanges: Change[] = [];
  let count = changes.length;
  /** Resolves after the last write that has been requested. */
  let lastWrite = Promise.resolve();

  return {
    origin,
    changes,
    durable: medium.durable,
    folder: medium.folder,
    /** Queues a change, which the next call of `flushChanges` writes. */
    queueChange: (change: Change) => {
      count += 1;
      queuedChanges.push(change);
    },
    /** The number of changes since the first start. */
    changeCount: () => count,
    /** Passes all queued changes to the medium, and resolves when the medium has taken them. After a failed write, every later call rejects too. */
    flushChanges: () => {
      lastWrite = lastWrite.then(() => (queuedChanges.length > 0 ? medium.write(queuedChanges.splice(0)) : undefined));
      return lastWrite;
    },
    close: async () => {
      // Ignores a failure, because the caller of `flushChanges` was told of it.
      await lastWrite.catch(() => undefined);
      await medium.close();
    },
  };
}

/** Creates a state that is lost when the process ends. The folder for bodies is made on first use, and deleted by `close`. */
export function temporaryState(origin: Origin): State {
  let madeFolder: Promise<string> | undefined;
  return createState(origin, [], {
    durable: false,
    write: async () => undefined,
    folder: () => {
      madeFolder ??= mkdtemp(join(tmpdir(), 'cloudops-sandbox-'));
      return madeFolder;
    },
    close: async () => {
      // With retries, because a request that still runs may add a file to the folder while it is deleted.
      if (madeFolder !== undefined) await rm(await madeFolder, { recursive: true, force: true, maxRetries: 5 });
    },
  });
}

/** Opens a state file, or creates it with `newOrigin`. Throws a `SandboxProblem` if it is in use, damaged, no state, or not of `chosenSeed`. */
export async function openState(path: string, newOrigin: Origin, chosenSeed?: string): Promise<State> {
  const folder = `${path}.parts`;
  let unlock: (() => void) | undefined;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    unlock = lock(`${path}.lock`);
    if (!existsSync(path)) await createStateFile(path, newOrigin);
    const { origin, changes, wholeBytes } = await readStateFile(path);
    // Removes an unfinished last line, which a killed process left. Its request got no answer, because answers wait for the write.
    await truncate(path, wholeBytes);
    // Only a seed that the user chose has to match. The seed of `newOrigin` may be a random one.
    if (chosenSeed !== undefined && chosenSeed !== origin.seed)
      throw new SandboxProblem(`The state ${path} has another seed; leave the seed out, or name another file.`);

    const file = await open(path, 'a');
    return createState(origin, changes, {
      durable: true,
      write: async (newChanges) => {
        await file.appendFile(`${JSON.stringify(newChanges)}\n`);
        await file.datasync();
      },
      folder: async () => folder,
      close: async () => {
        await file.close();
        unlock?.();
      },
    });
  } catch (error) {
    unlock?.();
    if (error instanceof SandboxProblem) throw error;
    throw new SandboxProblem(`The sandbox's state ${path} cannot be used (${codeOf(error) ?? error}).`);
  }
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined);

/** Creates a state file with its first line. The new file is renamed when it is complete, so that a killed process leaves no broken file. */
async function createStateFile(path: string, newOrigin: Origin): Promise<void> {
  const firstLine = JSON.stringify({ sandbox: version, ...newOrigin });
  await writeFile(`${path}.new`, `${firstLine}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

/** Reads the origin and the changes from the complete lines. `wholeBytes` is the size of these lines. */
async function readStateFile(path: string) {
  const bytes = await readFile(path);
  const wholeBytes = bytes.lastIndexOf('\n') + 1;
  // The last element is the empty text after the last line break.
  const wholeLines = bytes.toString('utf8', 0, wholeBytes).split('\n').slice(0, -1);
  const [firstLine, ...laterLines] = wholeLines.map(parseJson);

  const { data: origin } = originSchema.safeParse(firstLine);
  if (origin === undefined)
    throw new SandboxProblem(`${path} is not the state of a sandbox of this version; name another file.`);

  const changes = laterLines.flatMap((line, index) => {
    const { data: changesOfLine } = changesSchema.safeParse(line);
    if (changesOfLine !== undefined) return changesOfLine;
    throw new SandboxProblem(`Line ${index + 2} of ${path} cannot be read: it is damaged.`);
  });
  return { origin, changes, wholeBytes };
}

/** Creates a lock file with the process ID, and returns the function that deletes it. The lock of a process that has ended is replaced. */
function lock(path: string): () => void {
  const pid = String(process.pid);
  try {
    writeFileSync(path, pid, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const owner = readFileSync(path, 'utf8');
    // A lock with this process's own ID was left by an earlier process: in a container, every start may get the same ID.
    if (owner !== pid && isRunning(Number(owner)))
      throw new SandboxProblem(`Process ${owner} uses this state; if that is no sandbox, delete ${path}.`);
    writeFileSync(path, pid);
  }
  return () => rmSync(path, { force: true });
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
