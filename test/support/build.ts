import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    isBuilt?: true;
  }
}

/** Builds the server once per run, even if several projects start it. */
export default function buildOnce({ vitest }: TestProject): void {
  const root = vitest.getRootProject();
  if (root.getProvidedContext().isBuilt === true) return;
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: vitest.config.root, stdio: 'inherit' });
  root.provide('isBuilt', true);
}
