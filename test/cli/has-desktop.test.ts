import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { hasDesktop } from '../../src/cli/has-desktop.js';

/** Where a page may come up by itself: before the person at the client, and nowhere else. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-desktop-'));
for (const name of ['open', 'xdg-open']) writeFileSync(join(folder, name), '', { mode: 0o755 });
afterAll(() => rmSync(folder, { recursive: true }));
const PATH = ['/nowhere', folder].join(delimiter);

test.each<readonly [string, NodeJS.Platform, Record<string, string>, boolean]>([
  ['Linux with X', 'linux', { PATH, DISPLAY: ':0' }, true],
  ['Linux with Wayland', 'linux', { PATH, WAYLAND_DISPLAY: 'wayland-0' }, true],
  ['Linux without a screen', 'linux', { PATH }, false],
  ['Linux without a program that opens browsers', 'linux', { PATH: '/nowhere', DISPLAY: ':0' }, false],
  ['macOS', 'darwin', { PATH }, true],
  ['Windows', 'win32', {}, true],
  ['SSH with X forwarded', 'linux', { PATH, DISPLAY: ':10', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }, false],
  ['SSH on macOS', 'darwin', { PATH, SSH_TTY: '/dev/ttys000' }, false],
  ['CI', 'win32', { CI: 'true' }, false],
])('%s', (_where, platform, env, expected) => {
  expect(hasDesktop({ platform, env })).toBe(expected);
});
