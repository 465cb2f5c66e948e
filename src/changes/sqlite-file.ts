import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { textAt } from '../util/objects.js';
import { regularFile } from '../util/regular-file.js';
import { own, say, words } from '../util/safe-text.js';
import { JournalFault } from './journal-fault.js';

/** The file that a connection has open. */
export interface OpenFile {
  /** See `inodeOf`. */
  readonly inode: string;
  /** The device of the folder, which changes if the disk of the journal is not mounted any more. */
  readonly folderDevice: number;
}

/** The files of a database: itself, its log, and the index of its log. */
const filesOf = (path: string) => [path, `${path}-wal`, `${path}-shm`];

/**
 * Creates a file for a database, and its folder, or checks the file that is there. Only the owner may read and write the file.
 * Never opens a file that exists, because closing it would take away the locks of this process on it.
 * @throws ShownError or the system's error if a journal cannot be there
 */
export function prepareFile(path: string): void {
  const folder = dirname(path);
  makeFolder(folder);
  refuseNetwork(folder);
  if (regularFile(path) === undefined) closeSync(openSync(path, 'a', 0o600));
  for (const file of filesOf(path)) restrict(file);
}

/** @throws if no file can be created at a path. Creates nothing that stays */
export function requireWritableFolder(path: string): void {
  let folder = dirname(path);
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder)
    folder = dirname(folder);
  refuseNetwork(folder);
  // A trial, because some file systems, such as /proc, report write access and refuse new files.
  rmdirSync(mkdtempSync(join(folder, '.cloudops-')));
}

/** Takes away the rights of others. */
function restrict(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats !== undefined && (stats.mode & 0o777) !== 0o600) chmodSync(file, 0o600);
}

/** Makes a folder and the folders above it. Below /proc, Node's option `recursive` would never end. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (textAt(error, 'code') !== 'EEXIST') throw error;
  }
}

/** File systems that processes on several machines may share, by their numbers on Linux. Their locks are not safe for a database. */
const networks: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB 2',
  16914839: '9p',
  1702057286: 'FUSE',
  1397113167: 'AFS',
  12805120: 'Ceph',
  1196443219: 'GPFS',
  198183888: 'Lustre',
  2020557398: 'VirtualBox',
  3133910204: 'VMware',
};

/** The network file system with a number, or of a folder such as `\\\\server\\share`. Undefined for a local one. */
export const networkOf = (folder: string, type: number): string | undefined =>
  folder.startsWith('\\\\') ? 'SMB' : networks[type >>> 0];

function refuseNetwork(folder: string): void {
  const name = networkOf(folder, statfsSync(folder).type);
  if (name !== undefined)
    throw new JournalFault('network', say`its file system is shared over a network (${own(name)})`);
}

/** The identity of the file at a path. Empty if there is none. */
export function inodeOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}`;
}

export function openFileAt(path: string): OpenFile {
  return { inode: inodeOf(path), folderDevice: statSync(dirname(path)).dev };
}

/**
 * Writes a copy of a deleted database to a temporary file beside its place, and returns a function that puts the copy there.
 * @param copy writes the copy to a path
 */
export function copyBeside(
  path: string,
  { folderDevice }: OpenFile,
  copy: (to: string) => void,
): Disposable & Pick<OpenFile, 'inode'> & { link(): void } {
  const folder = dirname(path);
  makeFolder(folder);
  if (statSync(folder).dev !== folderDevice)
    throw new JournalFault('replaced', words('its disk is not mounted any more'));
  const temporary = `${path}.${randomUUID()}`;
  const remove = () => {
    for (const file of filesOf(temporary)) rmSync(file, { force: true });
  };
  try {
    closeSync(openSync(temporary, 'wx', 0o600));
    copy(temporary);
    flush(temporary);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    inode: inodeOf(temporary),
    link: () => {
      // SQLite would take a log that the deleted file has left for the log of the new one.
      for (const file of filesOf(path).slice(1)) rmSync(file, { force: true });
      // Replaces nothing.
      linkSync(temporary, path);
      flush(folder);
    },
    [Symbol.dispose]: remove,
  };
}

function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
