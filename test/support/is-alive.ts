import { spawnSync } from 'node:child_process';

/** False for a process that has ended, even if its exit code was not read yet. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^Z\s]/.test(stdout);
}
