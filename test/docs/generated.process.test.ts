import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('docs/TOOLS.md, and the tools and prompts of the manifest, are made from the source as it is', () => {
  const check = () => execFileSync(process.execPath, ['scripts/tools-doc.mjs', '--check'], { stdio: 'pipe' });
  expect(check).not.toThrow();
});
