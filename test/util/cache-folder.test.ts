import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { enableCompileCache } from '../../src/util/cache-folder.js';

const home = mkdtempSync(join(tmpdir(), 'cloudops-cache-'));
afterAll(() => rmSync(home, { recursive: true }));
let homes = 0;

/** The folder that is used for the cache of a user with this environment, if one is. */
function folderFor(env: Record<string, string>, platform: NodeJS.Platform = 'linux'): string | undefined {
  let used: string | undefined;
  const enable = (folder: string) => {
    used = folder;
  };
  enableCompileCache(enable, { env, platform, ...(process.getuid && { getuid: process.getuid }) });
  return used;
}

/** A new cache folder of a user, in which `prepare` has made something where ours goes. */
function prepared(prepare: (folder: string) => void): string {
  homes += 1;
  const cache = join(home, String(homes));
  mkdirSync(cache);
  prepare(join(cache, 'cloudops-mcp'));
  return cache;
}

test('compiled code goes to a folder of the user that nobody else may enter', () => {
  const cache = join(home, 'new', 'inner');
  const folder = folderFor({ XDG_CACHE_HOME: cache });
  expect(folder).toBe(join(cache, 'cloudops-mcp'));
  expect(statSync(join(cache, 'cloudops-mcp')).mode & 0o777).toBe(0o700);
  expect(folderFor({ XDG_CACHE_HOME: cache })).toBe(folder);
});

test('on Windows it is %LOCALAPPDATA% that says where', () => {
  const env = { LOCALAPPDATA: join(home, 'Local'), XDG_CACHE_HOME: join(home, 'xdg') };
  expect(folderFor(env, 'win32')).toBe(join(home, 'Local', 'cloudops-mcp'));
});

describe('there is no cache, and no error', () => {
  test.each<[string, (folder: string) => void]>([
    ['in a folder that others may enter', (folder) => mkdirSync(folder, { mode: 0o755 })],
    [
      'in a folder that others may write',
      (folder) => chmodSync(mkdirSync(folder, { recursive: true }) ?? folder, 0o770),
    ],
    ['behind a link', (folder) => symlinkSync(mkdtempSync(join(home, 'elsewhere-')), folder)],
    ['where there is a file', (folder) => writeFileSync(folder, '')],
    ['where no folder can be made', (folder) => symlinkSync('/dev/null/none', folder)],
  ])('%s', (_where, prepare) => {
    expect(folderFor({ XDG_CACHE_HOME: prepared(prepare) })).toBeUndefined();
  });

  test.runIf(process.platform === 'linux')('below /proc', () => {
    expect(folderFor({ XDG_CACHE_HOME: '/proc/none/caches' })).toBeUndefined();
  });

  test.runIf(process.getuid?.() === 0)('in a folder of somebody else', () => {
    const cache = prepared((folder) => {
      mkdirSync(folder, { mode: 0o700 });
      chownSync(folder, 1, 1);
    });
    expect(folderFor({ XDG_CACHE_HOME: cache })).toBeUndefined();
  });

  test('on a Node that has none, and nothing is made', () => {
    const cache = join(home, 'none');
    enableCompileCache(undefined, { env: { XDG_CACHE_HOME: cache }, platform: 'linux' });
    expect(existsSync(cache)).toBe(false);
  });
});
