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
import { JournalFault } from './sql.js';

/** The file that a connection has open. */
export interface OpenFile {
  readonly inode: string;
  /** Changes if the disk is not mounted any more. */
  readonly folderDevice: number;
}

const filesOf = (path: string) => [path, `${path}-wal`, `${path}-shm`];

/**
 * Creates a file for a database, for its owner alone. Never opens a file that exists, because closing it would take
 * away this process's locks.
 * @throws ShownError or the system's error
 */
export function prepareFile(path: string): void {
  const folder = dirname(path);
  makeFolder(folder);
  refuseNetwork(folder);
  if (regularFile(path) === undefined) closeSync(openSync(path, 'a', 0o600));
  for (const file of filesOf(path)) restrict(file);
}

/** @throws if no file can be created at a path */
export function requireWritableFolder(path: string): void {
  let folder = dirname(path);
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder)
    folder = dirname(folder);
  refuseNetwork(folder);
  // Some file systems, such as /proc, report write access and refuse new files.
  rmdirSync(mkdtempSync(join(folder, '.cloudops-')));
}

/** Makes a file readable for its owner alone. */
export function restrict(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats !== undefined && (stats.mode & 0o777) !== 0o600) chmodSync(file, 0o600);
}

/** Below /proc, Node's option `recursive` would never end. */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (textAt(error, 'code') !== 'EEXIST') throw error;
  }
}

/** File systems whose locks are not safe for a database, by their numbers on Linux. */
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

/** The network file system of a folder. */
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

/** Writes a copy of a deleted database beside its place. */
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
      // SQLite would take the old log for the log of the new file.
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
