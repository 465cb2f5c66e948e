import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Newcomer {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

/** An empty folder in which `cloudops-mcp` is the built command, with a home of its own. */
export function newcomer(): Newcomer {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-docs-'));
  const bin = mkdtempSync(join(tmpdir(), 'cloudops-bin-'));
  symlinkSync(resolve('dist/main.js'), join(bin, 'cloudops-mcp'));
  const { PATH } = process.env;
  return {
    folder,
    env: { PATH: `${bin}:${PATH}`, HOME: folder, TZ: 'UTC' },
    remove() {
      for (const made of [folder, bin]) rmSync(made, { recursive: true, force: true });
    },
  };
}
