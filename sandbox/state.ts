import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject } from './http.js';

/** What the sandbox cannot start with. The message is a sentence for the user. */
export class SandboxProblem extends Error {
  override readonly name = 'SandboxProblem';
}

/** Where the sandbox keeps what it knows. */
export interface State {
  /** What the state began with. */
  readonly first: unknown;
  /** What was appended under a name before this start, oldest first. */
  saved(name: string): readonly unknown[];
  /** Adds a record. Resolves once it is on disk; after a failure nothing more is accepted. */
  append(record: unknown): Promise<void>;
  /** Resolves once everything appended so far is on disk. */
  flushed(): Promise<void>;
  /** The folder for bodies. */
  folder(): Promise<string>;
  /** Whether what is in it has to outlive the process. */
  readonly durable: boolean;
  close(): Promise<void>;
}

/** State that is gone with the process, its folder with `close`. */
export function temporaryState(first: unknown): State {
  let made: Promise<string> | undefined;
  return {
    first,
    saved: () => [],
    append: async () => undefined,
    flushed: async () => undefined,
    folder: () => {
      made ??= mkdtemp(join(tmpdir(), 'cloudops-sandbox-'));
      return made;
    },
    durable: false,
    close: async () => {
      // A body may still be arriving.
      if (made !== undefined) await rm(await made, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * State in an append-only file of JSON lines, which a process may leave at any moment: a line that was not finished was
 * not answered. Bodies are in the folder `<path>.parts` beside it. A new file begins with `first`.
 * Throws a `SandboxProblem` if the file is in use, is not one of a sandbox, or cannot be read or written.
 */
export async function openState(path: string, first: { readonly sandbox: number }): Promise<State> {
  const folder = `${path}.parts`;
  let unlock: (() => void) | undefined;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    unlock = lock(`${path}.lock`);
    const records = await readRecords(path, first);
    return appendTo(await open(path, 'a'), records, folder, unlock);
  } catch (error) {
    unlock?.();
    if (error instanceof SandboxProblem) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : error;
    throw new SandboxProblem(`The sandbox's state ${path} cannot be used (${code}).`);
  }
}

function appendTo(file: FileHandle, records: readonly unknown[], folder: string, unlock: () => void): State {
  let waiting: string[] = [];
  let written: Promise<void> = Promise.resolve();
  // Records that come while others are being written share one write.
  const write = async () => {
    const lines = waiting.join('');
    waiting = [];
    if (lines === '') return;
    await file.appendFile(lines);
    await file.datasync();
  };
  return {
    first: records[0],
    saved: (name) => records.flatMap((record) => (isObject(record) && name in record ? [record[name]] : [])),
    append: (record) => {
      waiting.push(`${JSON.stringify(record)}\n`);
      written = written.then(write);
      return written;
    },
    flushed: () => written,
    folder: async () => folder,
    durable: true,
    close: async () => {
      await written.catch(() => undefined);
      await file.close();
      unlock();
    },
  };
}

async function readRecords(path: string, first: { readonly sandbox: number }): Promise<unknown[]> {
  const bytes = await readFile(path).catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined) {
    await writeFile(`${path}.new`, `${JSON.stringify(first)}\n`, { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
    return [first];
  }
  const end = bytes.lastIndexOf('\n') + 1;
  const records = bytes
    .toString('utf8', 0, end)
    .split('\n')
    .slice(0, -1)
    .map((line, index): unknown => {
      try {
        return JSON.parse(line);
      } catch {
        throw new SandboxProblem(`Line ${index + 1} of ${path} cannot be read: it is damaged or no sandbox's state.`);
      }
    });
  if (!isObject(records[0]) || records[0].sandbox !== first.sandbox)
    throw new SandboxProblem(`${path} is not the state of a sandbox of this version; name another file.`);
  await truncate(path, end);
  return records;
}

/** Keeps a second sandbox from the file. What a process left behind that is gone does not count. */
function lock(path: string): () => void {
  const pid = String(process.pid);
  try {
    writeFileSync(path, pid, { flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const owner = readFileSync(path, 'utf8');
    // In a container, the process before this one had the same number.
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
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
