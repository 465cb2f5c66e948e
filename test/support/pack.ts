import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    tarball: string;
  }
}

/** Packs the project once as it is published, with the scripts that npm runs for that, before any test reads the pages that they change. */
export default function packOnce({ provide }: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-pack-'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [tarball] = readdirSync(folder);
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  provide('tarball', join(folder, tarball));
  return () => rmSync(folder, { recursive: true });
}
