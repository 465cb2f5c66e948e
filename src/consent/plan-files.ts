import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { textAt } from '../util/objects.js';
import { beyondKept, type PlanStore, type StoredPlan } from './plan-store.js';

/** `<owner>-<nonce>-<expiry>.<state>`: everything that a store has to know without opening a plan. What a draft is called ends with an ID. */
const namePattern = /^([0-9a-f]{16})-([0-9a-f]{16})-(\d{13})\.(waiting|decided)(\.[0-9a-f-]{36})?$/;

/** No plan that can be shown is as large, with its answer. */
const maximumBytes = 1024 * 1024;

type Named = Omit<StoredPlan, 'sealed'> & { readonly name: string; readonly isDraft: boolean };

/**
 * A store with one file for each plan, in a folder of its own beside the journal. A plan is decided by renaming its file, which succeeds
 * for one process alone.
 */
export function createPlanFiles(folder: string): PlanStore {
  const all = async (): Promise<Named[]> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if (textAt(error, 'code') === 'ENOENT') return [];
      throw error;
    });
    return names.flatMap((name) => {
      const [, owner = '', nonce = '', expiresAt, word, draft] = namePattern.exec(name) ?? [];
      if (expiresAt === undefined) return [];
      const state = word === 'waiting' ? word : 'decided';
      return [{ name, owner, nonce, expiresAt: Number(expiresAt), state, isDraft: draft !== undefined }];
    });
  };
  const named = async () => (await all()).filter(({ isDraft }) => !isDraft);
  const erase = async (plans: readonly Named[]) => {
    for (const { name } of plans) await unlink(join(folder, name)).catch(() => undefined);
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
    const temporary = join(folder, `${name}.${randomUUID()}`);
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
  const add: PlanStore['add'] = async ({ nonce, owner, expiresAt, sealed }, most) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const plans = await named();
    if (plans.filter((each) => each.owner === owner && each.state === 'waiting').length >= most) return false;
    await write(`${owner}-${nonce}-${expiresAt}.waiting`, sealed);
    await erase(beyondKept(plans, owner));
    return true;
  };
  let last: Promise<unknown> = Promise.resolve();
  return {
    // One at a time is counted and added.
    add: (...given) => {
      const added = last.then(() => add(...given));
      last = added.catch(() => undefined);
      return added;
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
    eraseBefore: async (time) => erase((await all()).filter(({ expiresAt }) => expiresAt < time)),
    close: async () => undefined,
  };
}
