import { type Stats, statSync } from 'node:fs';
import { ShownError } from './log.js';
import { words } from './safe-text.js';

/**
 * Reading a FIFO or a device may never end.
 * @throws ShownError
 */
export function regularFile(path: string): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return stats;
  throw new ShownError(stats.isDirectory() ? words('it is a folder') : words('it is not a regular file'));
}
