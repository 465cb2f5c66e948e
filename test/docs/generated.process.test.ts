import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('what `npm run docs` generates is current', () => {
  const check = () => execFileSync(process.execPath, ['scripts/docs.mjs', '--check'], { stdio: 'pipe' });
  expect(check).not.toThrow();
});
