import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Refusal } from '../consent/refusal.js';
import type { Operation } from '../tools/define-operation.js';
import { nearest } from '../util/did-you-mean.js';
import { textAt, withValueAt } from '../util/objects.js';
import { join as joinShown, own, type SafeText, say, words } from '../util/safe-text.js';
import { validate } from './validate.js';

/**
 * Secrets that an agent may name but never read: the files of one folder, except hidden files. A link counts if its target is in the
 * folder, as in a mounted Kubernetes secret.
 */
export interface SecretFiles {
  /** Returns the text of a named secret, or the problem. */
  read(name: string): Promise<SecretFile>;
}

type SecretFile =
  | { readonly kind: 'secret'; readonly text: string }
  | { readonly kind: 'problem'; readonly problem: SafeText };

const maximumBytes = 64 * 1024;

/** @param folder undefined if no folder is configured */
export function createSecretFiles(folder: string | undefined): SecretFiles {
  return {
    read: async (name) => {
      if (folder === undefined) return problem(words('no folder of secrets is configured (CLOUDOPS_SECRETS_DIR)'));
      const files = await filesIn(folder);
      // The name is only compared with existing names, and never becomes a path itself.
      const found = files.get(name);
      // A text that cannot be a name may be the secret itself.
      const shown = /^[\w.-]{1,64}$/.test(name) ? own(name) : words('the name given (not shown)');
      if (found === undefined) return problem(say`${shown} does not exist; ${known(name, [...files.keys()])}`);
      const text = await readChecked(found).catch(() => undefined);
      if (text === undefined) return problem(say`${shown} cannot be read`);
      return text === 'too large'
        ? problem(say`${shown} is larger than 64 KiB`)
        : { kind: 'secret', text: text.toString('utf8').trim() };
    },
  };
}

const problem = (text: SafeText): SecretFile => ({ kind: 'problem', problem: text });

/** A regular file in the folder, identified when it was checked. */
interface Found {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/**
 * Reads a checked file. It may have been replaced since, so this compares its identity, follows no link, waits for no pipe, and reads
 * at most `maximumBytes`.
 */
async function readChecked({ path, dev, ino }: Found): Promise<Buffer | 'too large' | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.dev !== dev || stats.ino !== ino) return undefined;
    const buffer = Buffer.alloc(maximumBytes + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (length > maximumBytes) return 'too large';
      if (bytesRead === 0) return buffer.subarray(0, length);
    }
  } finally {
    await file.close();
  }
}

async function filesIn(folder: string): Promise<Map<string, Found>> {
  const root = await realpath(folder).catch(() => undefined);
  const names =
    root === undefined ? [] : (await readdir(root).catch(() => [])).filter((name) => !name.startsWith('.')).sort();
  const files = new Map<string, Found>();
  for (const name of names) {
    const path = await realpath(join(root ?? '', name)).catch(() => '');
    if (!path.startsWith(`${root}${sep}`)) continue;
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isFile()) files.set(name, { path, dev: stats.dev, ino: stats.ino });
  }
  return files;
}

const known = (name: string, names: readonly string[]) =>
  names.length === 0 ? words('the folder has no secrets') : say`there are ${joinNames(nearest(name, names, 20))}`;

const joinNames = (names: readonly string[]) =>
  joinShown(
    names.map((name) => say`${own(name)}`),
    ', ',
  );

/**
 * Replaces the names of secrets with the secrets, and validates the result. Returns the names by the dotted path of the secret.
 * @throws Refusal
 */
export async function insertSecrets(
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  namePaths: NonNullable<Operation['secretNames']>,
  files: SecretFiles,
  region: string,
): Promise<{ readonly input: Record<string, unknown>; readonly secretNames: Readonly<Record<string, string>> }> {
  const secretNames: Record<string, string> = {};
  let input: unknown = given;
  for (const [namePath, secretPath] of Object.entries(namePaths)) {
    const name = textAt(input, namePath);
    if (name === undefined) continue;
    const secret = await files.read(name);
    if (secret.kind === 'problem') throw new Refusal('InvalidArguments', [say`${own(namePath)}: ${secret.problem}`]);
    const withoutName = withValueAt(input, namePath, () => undefined);
    input = withValueAt(withoutName, secretPath, () => secret.text);
    secretNames[secretPath] = name;
  }
  return { input: input === given ? { ...given } : validate(operation, input, region), secretNames };
}
