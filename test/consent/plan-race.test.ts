import { mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { keptPlanKey } from '../../src/consent/plan-key.js';
import { createPlanFiles } from '../../src/journal/plan-files.js';

/** Several processes decide on plans in one folder, and make the key of planIds, at the same moment. */

const others = vi.hoisted(() => ({
  /** What another process does after a folder was listed, a file looked at, and before a file is renamed or linked. */
  afterList: () => {},
  afterLook: () => {},
  beforeRename: () => {},
  beforeLink: () => {},
  /** Files that were opened; one that is closed has the number -1. */
  handles: [] as FileHandle[],
  /** The numbers of those that are open. */
  open: new Set<number>(),
}));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...original,
    readdir: async (path: string) => {
      const names = await original.readdir(path);
      others.afterList();
      return names;
    },
    lstat: async (path: string) => {
      const stats = await original.lstat(path);
      others.afterLook();
      return stats;
    },
    rename: async (from: string, to: string) => {
      others.beforeRename();
      return original.rename(from, to);
    },
    open: async (...given: Parameters<typeof original.open>) => {
      const file = await original.open(...given);
      others.handles.push(file);
      return file;
    },
  };
});
vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs')>();
  return {
    ...original,
    linkSync: (from: string, to: string) => {
      others.beforeLink();
      return original.linkSync(from, to);
    },
    openSync: (...given: Parameters<typeof original.openSync>) => {
      const file = original.openSync(...given);
      others.open.add(file);
      return file;
    },
    closeSync: (file: number) => {
      others.open.delete(file);
      return original.closeSync(file);
    },
  };
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-plans-'));
  const nothing = () => {};
  Object.assign(others, { afterList: nothing, afterLook: nothing, beforeRename: nothing, beforeLink: nothing });
  others.open.clear();
  others.handles.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What happens once, however often it could. */
const once = (act: () => void) => {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
};
const failing = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};

describe('a plan', () => {
  const plan = { nonce: '0'.repeat(16), owner: 'a'.repeat(16), expiresAt: 1_795_262_400_000, sealed: 'sealed' };
  const waiting = `${plan.owner}-${plan.nonce}-${plan.expiresAt}.waiting`;
  const setUp = async () => {
    const store = createPlanFiles(folder);
    await store.add(plan, 20);
    return store;
  };
  const decide = () => {
    unlinkSync(join(folder, waiting));
    writeFileSync(join(folder, waiting.replace('waiting', 'decided')), 'the end');
  };

  test('that is decided on while it is looked for is found as decided', async () => {
    const store = await setUp();
    others.afterList = once(decide);
    expect(await store.find(plan.nonce)).toMatchObject({ state: 'decided', sealed: 'the end' });
  });

  test.each(['afterList', 'afterLook'] as const)(
    'that is erased while it is looked for is gone (%s)',
    async (moment) => {
      const store = await setUp();
      others[moment] = once(() => unlinkSync(join(folder, waiting)));
      expect(await store.find(plan.nonce)).toBeUndefined();
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test('that was decided on, and is erased while it is looked for, is gone', async () => {
    const store = await setUp();
    await store.claim(plan.nonce, 'claimed');
    others.afterList = once(() => unlinkSync(join(folder, waiting.replace('waiting', 'decided'))));
    expect(await store.find(plan.nonce)).toBeUndefined();
  });

  test('that another takes first is not claimed', async () => {
    const store = await setUp();
    others.beforeRename = once(decide);
    expect(await store.claim(plan.nonce, 'claimed')).toBe(false);
  });

  test('that cannot be claimed is an error: nobody knows who has it', async () => {
    const store = await setUp();
    others.beforeRename = failing('EACCES');
    await expect(store.claim(plan.nonce, 'claimed')).rejects.toMatchObject({ code: 'EACCES' });
  });

  test('leaves no file open', async () => {
    await setUp();
    expect(others.handles.map(({ fd }) => fd)).toEqual([-1]);
  });
});

describe('the key of planIds', () => {
  test('is that of the process that made it first', () => {
    const path = join(folder, 'key');
    others.beforeLink = once(() => writeFileSync(path, 'a'.repeat(64), { mode: 0o600 }));
    expect(keptPlanKey(path)()).toEqual([Buffer.alloc(32, 0xaa)]);
    expect(readdirSync(folder)).toEqual(['key']);
    expect(others.open).toEqual(new Set());
  });

  test('is none where it cannot be given its name, and nothing is left of it', () => {
    others.beforeLink = failing('EPERM');
    expect(keptPlanKey(join(folder, 'key'))()).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });
});
