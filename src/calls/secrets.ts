import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { nearest } from '../util/did-you-mean.js';
import { quoteName } from '../util/quote.js';

/**
 * Secrets that an agent may name but never read: the files of one folder, without hidden ones. A link counts if it stays in the
 * folder, as those of a mounted Kubernetes secret do.
 */
export interface SecretFiles {
  /** The text of the secret with a name, or why there is none. */
  read(name: string): Promise<{ readonly text: string } | { readonly problem: string }>;
}

const maximumBytes = 64 * 1024;

/** @param folder undefined if none is configured */
export function createSecretFiles(folder: string | undefined): SecretFiles {
  return {
    read: async (name) => {
      if (folder === undefined) return { problem: 'no folder of secrets is configured (CLOUDOPS_SECRETS_DIR)' };
      const files = await filesIn(folder);
      const names = [...files.keys()];
      // The name is only compared with those that exist: it never becomes a path of its own making.
      const path = files.get(name);
      // What is no name may be the secret itself.
      const shown = /^[\w.-]{1,64}$/.test(name) ? name : 'the name given (not shown)';
      if (path === undefined) return { problem: `${shown} does not exist; ${known(name, names)}` };
      const file = await open(path).catch(() => undefined);
      try {
        if (file === undefined) return { problem: `${shown} cannot be read` };
        if ((await file.stat()).size > maximumBytes) return { problem: `${shown} is larger than 64 KiB` };
        return { text: (await file.readFile('utf8')).trim() };
      } finally {
        await file?.close();
      }
    },
  };
}

/** The real paths of the secrets, by name. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const root = await realpath(folder).catch(() => undefined);
  const names =
    root === undefined ? [] : (await readdir(root).catch(() => [])).filter((name) => !name.startsWith('.')).sort();
  const files = new Map<string, string>();
  for (const name of names) {
    const path = await realpath(join(root ?? '', name)).catch(() => '');
    if (path.startsWith(`${root}${sep}`) && (await stat(path).catch(() => undefined))?.isFile()) files.set(name, path);
  }
  return files;
}

const known = (name: string, names: readonly string[]) =>
  names.length === 0 ? 'the folder has no secrets' : `there are ${nearest(name, names, 20).map(quoteName).join(', ')}`;
