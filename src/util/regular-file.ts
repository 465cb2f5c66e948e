import { type Stats, statSync } from 'node:fs';
import { ShownError } from './log.js';
import { words } from './safe-text.js';

/**
 * Returns the facts about a regular file, or undefined if nothing is at the path. For every path that a setting names, because reading a FIFO
 * or a device may never end.
 * @throws ShownError if a folder, a FIFO, a socket or a device is at the path, or the system's error
 */
export function regularFile(path: string): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return stats;
  throw new ShownError(stats.isDirectory() ? words('it is a folder') : words('it is not a regular file'));
}
