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

/** The first line of a state file. */
const origin = z.object({
  sandbox: z.literal(version),
  seed: z.string(),
  /** Time of the first start (ISO 8601, UTC). */
  started: z.string(),
});
export type Origin = Omit<z.output<typeof origin>, 'sandbox'>;

/** The changes of one request: table, key, and the new record, or null for a deleted record. */
const changesLine = z.array(z.tuple([z.string(), z.string(), z.unknown()]).readonly());
export type Change = z.output<typeof changesLine>[number];

/** The memory of a sandbox: seed, changes and bodies. */
export type State = ReturnType<typeof createState>;

/** Derives bytes from the seed and names. The same names give the same bytes. */
export const derive = ({ origin }: State, ...names: readonly (string | number)[]) =>
  hash('sha256', JSON.stringify([origin.seed, ...names]), 'buffer');

/** Keys and records of a table before the first change. */
export type Seeds<T> = Iterable<readonly [key: string, record: T]>;

/** Records by key. Each change is also written to the state. */
export class Table<T> extends Map<string, T> {
  readonly #keep: (key: string, value: T | null) => void;
  /** Loads the seeds, then the changes of the state. Throws a `SandboxProblem` if a record does not fit the schema. */
  constructor(name: string, record: z.ZodType<T>, state: State, seeds: Seeds<NoInfer<T>> = []) {
    super();
    this.#keep = (key, value) => state.keep([name, key, value]);
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
    this.#keep(key, value);
    return super.set(key, value);
  }
  override delete(key: string): boolean {
    if (this.has(key)) this.#keep(key, null);
    return super.delete(key);
  }
}

/** Storage for changes and bodies. */
interface Medium {
  write(changes: readonly Change[]): Promise<void>;
  /** The folder for bodies. */
  folder(): Promise<string>;
  /** True if its contents must outlive the process. */
  readonly durable: boolean;
  close(): Promise<void>;
}

/** @param changes the changes of earlier starts, oldest first */
function createState(origin: Origin, changes: readonly Change[], medium: Medium) {
  /** Changes that are not on disk yet. */
  const queuedChanges: Change[] = [];
  let count = changes.length;
  let written = Promise.resolve();
  return {
    ...medium,
    origin,
    changes,
    /** Queues a change for the next `flushed`. */
    keep: (change: Change) => {
      count += 1;
      queuedChanges.push(change);
    },
    /** The number of changes. */
    count: () => count,
    /** Writes the queued changes in one go. Resolves when all are on disk. After a failure, every later call rejects too. */
    flushed: () => {
      written = written.then(() => (queuedChanges.length > 0 ? medium.write(queuedChanges.splice(0)) : undefined));
      return written;
    },
    close: async () => {
      await written.catch(() => undefined);
      await medium.close();
    },
  };
}

/** Creates a state that ends with the process. `close` deletes its folder. */
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
      // Retries because a body may still be arriving.
      if (madeFolder !== undefined) await rm(await madeFolder, { recursive: true, force: true, maxRetries: 5 });
    },
  });
}

/**
 * State in an append-only file of JSON lines. A process may be killed at any moment: the changes of an unfinished line were
 * not answered. Bodies are in the folder `<path>.parts`. Throws a `SandboxProblem` if the file is in use, is not one of a
 * sandbox, was begun with another `seed`, or cannot be read or written.
 */
export async function openState(path: string, ifNew: Origin, seed?: string): Promise<State> {
  const folder = `${path}.parts`;
  let unlock: (() => void) | undefined;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    unlock = lock(`${path}.lock`);
    const { origin, changes } = await readLines(path, ifNew);
    if (seed !== undefined && seed !== origin.seed)
      throw new SandboxProblem(`The state ${path} has another seed; leave the seed out, or name another file.`);
    const file = await open(path, 'a');
    return createState(origin, changes, {
      durable: true,
      write: async (changes) => {
        await file.appendFile(`${JSON.stringify(changes)}\n`);
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

/** Reads the origin and the changes of a state file. A file that does not exist is created with the origin `ifNew`. */
async function readLines(path: string, ifNew: Origin) {
  if (!existsSync(path)) {
    await writeFile(`${path}.new`, `${JSON.stringify({ sandbox: version, ...ifNew })}\n`, { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
  }
  const bytes = await readFile(path);
  const end = bytes.lastIndexOf('\n') + 1;
  const [firstLine, ...lines] = bytes.toString('utf8', 0, end).split('\n').slice(0, -1).map(parseJson);
  const { data: storedOrigin } = origin.safeParse(firstLine);
  if (storedOrigin === undefined)
    throw new SandboxProblem(`${path} is not the state of a sandbox of this version; name another file.`);
  const changes = lines.flatMap((line, index) => {
    const { data: changesOfLine } = changesLine.safeParse(line);
    if (changesOfLine !== undefined) return changesOfLine;
    throw new SandboxProblem(`Line ${index + 2} of ${path} cannot be read: it is damaged.`);
  });
  // Removes a line that a killed process left unfinished.
  await truncate(path, end);
  return { origin: storedOrigin, changes };
}

/** Locks the file against a second sandbox. Ignores the lock of a process that no longer runs. */
function lock(path: string): () => void {
  const pid = String(process.pid);
  try {
    writeFileSync(path, pid, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const owner = readFileSync(path, 'utf8');
    // In a container, an earlier process may have had the same process ID.
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
