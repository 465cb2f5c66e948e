import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { textAt } from '../util/objects.js';
import type { PlanStore, StoredPlan } from './plan-store.js';

/** `<owner>-<nonce>-<expiry>.<state>`: everything that a store has to know without opening a plan. */
const namePattern = /^([0-9a-f]{16})-([0-9a-f]{16})-(\d{13})\.(waiting|decided)$/;

/** No plan that can be shown is as large, with its answer. */
const maximumBytes = 1024 * 1024;

type Named = Omit<StoredPlan, 'sealed'> & { readonly name: string };

/**
 * A store with one file for each plan, in a folder of its own beside the journal. A plan is decided by renaming its file, which succeeds
 * for one process alone.
 */
export function createPlanFiles(folder: string): PlanStore {
  const named = async (): Promise<Named[]> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if (textAt(error, 'code') === 'ENOENT') return [];
      throw error;
    });
    return names.flatMap((name) => {
      const [, owner = '', nonce = '', expiresAt, state] = namePattern.exec(name) ?? [];
      if (expiresAt === undefined) return [];
      return [{ name, owner, nonce, expiresAt: Number(expiresAt), state: state === 'waiting' ? 'waiting' : 'decided' }];
    });
  };
  const findNamed = async (nonce: string) => (await named()).find((each) => each.nonce === nonce);
  const read = async (plan: Named): Promise<StoredPlan | undefined> => {
    const path = join(folder, plan.name);
    const stats = await lstat(path).catch(() => undefined);
    if (!stats?.isFile() || stats.size > maximumBytes) return undefined;
    // It may have been decided or erased meanwhile.
    const sealed = await readFile(path, 'utf8').catch(() => undefined);
    return sealed === undefined ? undefined : { ...plan, sealed };
  };
  /** Nobody sees half of a file: it gets its name when it is on disk. */
  const write = async (name: string, text: string) => {
    const temporary = join(folder, `.${randomUUID()}`);
    const { O_CREAT, O_EXCL, O_WRONLY } = constants;
    const file = await open(temporary, O_CREAT | O_EXCL | O_WRONLY, 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, name));
  };
  return {
    async add({ nonce, owner, expiresAt, sealed }, most) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const own = (await named()).filter((each) => each.owner === owner && each.state === 'waiting');
      if (own.length >= most) return false;
      await write(`${owner}-${nonce}-${expiresAt}.waiting`, sealed);
      return true;
    },
    async find(nonce) {
      const found = await findNamed(nonce);
      if (found === undefined) return undefined;
      const plan = await read(found);
      if (plan !== undefined || found.state === 'decided') return plan;
      const decided = await findNamed(nonce);
      return decided && read(decided);
    },
    async claim(nonce) {
      const found = await findNamed(nonce);
      if (found?.state !== 'waiting') return false;
      const path = join(folder, found.name);
      return rename(path, path.replace(/waiting$/, 'decided')).then(
        () => true,
        (error: unknown) => {
          if (textAt(error, 'code') === 'ENOENT') return false;
          throw error;
        },
      );
    },
    async update(nonce, sealed) {
      const found = await findNamed(nonce);
      if (found?.state === 'decided') await write(found.name, sealed);
    },
    list: async () => (await Promise.all((await named()).map(read))).filter((plan) => plan !== undefined),
    countWaiting: async (time) =>
      (await named()).filter(({ state, expiresAt }) => state === 'waiting' && expiresAt >= time).length,
    async eraseBefore(time) {
      for (const { name, expiresAt } of await named())
        if (expiresAt < time) await unlink(join(folder, name)).catch(() => undefined);
    },
    close: async () => undefined,
  };
}
