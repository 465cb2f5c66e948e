import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Operation } from '../tools/define-operation.js';
import { nearest } from '../util/did-you-mean.js';
import { textAt, textsAt, withTexts, withValueAt } from '../util/objects.js';
import { hiddenInPlan, secretNamed } from '../util/quote.js';
import { join as joinTexts, own, type SafeText, say, words } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { Refusal } from './refusal.js';
import type { ResolvedChange } from './resolved-call.js';
import { validate } from './validate.js';

/** Secrets that an agent may name but never read: the files of one folder. A link counts if its target is in the folder. */
export interface SecretFiles {
  readonly hasFolder: boolean;
  /** With `base64`, a secret is not read as text. */
  read(name: string, encoding?: 'utf8' | 'base64'): Promise<SecretFile>;
}

type SecretFile =
  | { readonly kind: 'secret'; readonly text: string }
  | { readonly kind: 'problem'; readonly problem: SafeText };

const maximumBytes = 64 * 1024;

export function createSecretFiles(folder: string | undefined): SecretFiles {
  return {
    hasFolder: folder !== undefined,
    read: async (name, encoding = 'utf8') => {
      if (folder === undefined) return problem(words('no folder of secrets is configured (CLOUDOPS_SECRETS_DIR)'));

      // The agent's name never becomes a path itself.
      const files = await filesIn(folder);
      const file = files.get(name);
      // An agent may have passed the secret itself, so only a text that can be a file name is shown.
      const shownName = /^[\w.-]{1,64}$/.test(name) ? own(name) : words('the name given (not shown)');
      if (file === undefined) {
        const nearestNames = nearest(name, [...files.keys()], 20).map((nearestName) => own(nearestName));
        const others = say`there are ${joinTexts(nearestNames, ', ')}`;
        return problem(
          say`${shownName} does not exist; ${files.size === 0 ? words('the folder has no secrets') : others}`,
        );
      }

      const content = await readChecked(file).catch(() => undefined);
      if (content === undefined) return problem(say`${shownName} cannot be read`);
      if (content === 'too large') return problem(say`${shownName} is larger than 64 KiB`);
      return { kind: 'secret', text: content.toString(encoding).trim() };
    },
  };
}

const problem = (text: SafeText): SecretFile => ({ kind: 'problem', problem: text });

/** Follows no link and waits for no pipe, because the file may have been replaced. */
async function readChecked(path: string): Promise<Buffer | 'too large' | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    if (stats.size > maximumBytes) return 'too large';
    // One read may return only a part of the file, which may have grown.
    const content = await file.readFile();
    return content.length > maximumBytes ? 'too large' : content;
  } finally {
    await file.close();
  }
}

async function filesIn(folder: string): Promise<Map<string, string>> {
  const root = await realpath(folder).catch(() => undefined);
  const files = new Map<string, string>();
  if (root === undefined) return files;
  const names = await readdir(root).catch(() => []);
  for (const name of names.sort()) {
    if (name.startsWith('.')) continue;
    const path = await realpath(join(root, name)).catch(() => '');
    if (!path.startsWith(`${root}${sep}`)) continue;
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isFile()) files.set(name, path);
  }
  return files;
}

/**
 * Replaces names of secrets with the secrets, whose paths are secrets of the returned operation.
 * @throws Refusal
 */
export async function insertSecrets(
  operation: Operation,
  validArgs: Readonly<Record<string, unknown>>,
  files: SecretFiles,
): Promise<{
  readonly operation: Operation;
  readonly input: Record<string, unknown>;
  readonly nameBySecretPath: Readonly<Record<string, string>>;
}> {
  const { secrets = [], secretNames: secretPathByNamePath = {}, blobSecrets = [] } = operation;
  const byValue = Object.entries(secretPathByNamePath).filter(
    ([, path]) => files.hasFolder && secrets.includes(path) && textAt(validArgs, path) !== undefined,
  );
  if (byValue.length > 0)
    throw new Refusal(
      'SecretByValue',
      byValue.map(([name, path]) => say`${own(name)}: give the name of a secret here, in place of ${own(path)}`),
      { reason: words('this server takes secrets by name') },
    );
  const nameBySecretPath: Record<string, string> = {};
  let input: unknown = validArgs;
  for (const [namePath, secretPath] of Object.entries(secretPathByNamePath)) {
    const name = textAt(input, namePath);
    if (name === undefined) continue;
    const secret = await files.read(name, blobSecrets.includes(secretPath) ? 'base64' : 'utf8');
    if (secret.kind === 'problem') throw new Refusal('InvalidArguments', [say`${own(namePath)}: ${secret.problem}`]);
    const withoutName = withValueAt(input, namePath, () => undefined);
    input = withValueAt(withoutName, secretPath, () => secret.text);
    nameBySecretPath[secretPath] = name;
  }

  const secretPaths = Object.keys(nameBySecretPath);
  if (secretPaths.length === 0) return { operation, input: { ...validArgs }, nameBySecretPath };
  const withSecrets = { ...operation, secrets: [...new Set([...secrets, ...secretPaths])] };
  // Validated again, so a new problem can only be about a secret.
  return { operation: withSecrets, input: validate(withSecrets, input), nameBySecretPath };
}

type SecretsOfCall = Pick<ResolvedChange, 'operation' | 'input' | 'nameBySecretPath'>;

/** Copies a value with words in place of each secret. Without secrets, returns the value itself. */
export function withoutSecrets<Value>(call: SecretsOfCall, value: Value): Value {
  const marks = secretMarks(call);
  return marks.size === 0 ? value : withTexts(value, marks);
}

function secretMarks({ operation, input, nameBySecretPath = {} }: SecretsOfCall): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  for (const path of operation.secrets ?? []) {
    const name = nameBySecretPath[path];
    for (const secret of textsAt(input, path)) {
      if (marks.has(secret)) continue;
      marks.set(secret, name === undefined ? fingerprint(secret) : secretNamed(name));
    }
  }
  return marks;
}

/** Decodes words that a request has encoded, because they would look like the secret. */
export function withDecodedSecretMarks(call: SecretsOfCall, body: unknown): unknown {
  const readable = new Map<string, string>();
  for (const mark of secretMarks(call).values()) {
    const encoded = Buffer.from(mark).toString('base64');
    for (const form of [encoded, encodeSegment(encoded), encodeSegment(mark)]) readable.set(form, mark);
  }
  if (typeof body !== 'string') return withTexts(body, readable);
  return [...readable].reduce((text, [form, mark]) => text.replaceAll(form, () => mark), body);
}

/** The words in place of a secret. Its SHA-256 shows whether two secrets are the same. */
export function fingerprint(secret: string): string {
  // A shorter secret can be guessed from its SHA-256 (characters).
  if (secret.length < 16) return hiddenInPlan();
  return hiddenInPlan(createHash('sha256').update(secret).digest('hex').slice(0, 8));
}
