import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { browserProgram } from '../../src/cli/local-page.js';

/** Where a page may come up by itself: before the person at the client, and nowhere else. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-desktop-'));
for (const name of ['open', 'xdg-open']) writeFileSync(join(folder, name), '', { mode: 0o755 });
afterAll(() => rmSync(folder, { recursive: true }));
const PATH = ['/nowhere', folder].join(delimiter);

test.each<readonly [string, NodeJS.Platform, Record<string, string>, string | undefined]>([
  ['Linux with X', 'linux', { PATH, DISPLAY: ':0' }, 'xdg-open'],
  ['Linux with Wayland', 'linux', { PATH, WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
  ['Linux without a screen', 'linux', { PATH }, undefined],
  ['Linux without a program that opens browsers', 'linux', { PATH: '/nowhere', DISPLAY: ':0' }, undefined],
  ['macOS', 'darwin', { PATH }, 'open'],
  ['Windows', 'win32', {}, 'rundll32'],
  ['SSH with X forwarded', 'linux', { PATH, DISPLAY: ':10', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }, undefined],
  ['SSH on macOS', 'darwin', { PATH, SSH_TTY: '/dev/ttys000' }, undefined],
  ['CI', 'win32', { CI: 'true' }, undefined],
])('%s', (_where, platform, env, expected) => {
  expect(browserProgram({ platform, env })).toBe(expected);
});
