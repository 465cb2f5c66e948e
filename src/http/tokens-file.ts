import { createHash, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAccountScope } from '../calls/account.js';
import { approveScope, scopes as callerScopes, type Principal, readScope, writeScope } from '../calls/policy.js';
import { type Log, reasonOf } from '../util/log.js';
import { namesOf, own, type SafeText, say } from '../util/safe-text.js';
import type { Authenticate } from './auth.js';

/** A token that the server knows by its SHA-256 alone. */
interface StaticToken extends Principal {
  readonly digest: Buffer;
}

/** Scopes that a line may have. */
const knownScopes = [...callerScopes, approveScope];

/** True for the scopes of a token that decides, in the accounts that they name, and does nothing else. */
export const decidesOnly = (scopes: readonly string[]): boolean =>
  scopes.includes(approveScope) && scopes.every((scope) => scope === approveScope || isAccountScope(scope));

const maximumBytes = 1024 * 1024;
const maximumName = 255;

/**
 * Reads a file of tokens. A line is a name, the SHA-256 of the token in hex and, if it differs from reading and writing,
 * its scopes. A line with `cloudops:approve` has no other but those of accounts: its token decides on the page, and is refused at
 * `/mcp`. Empty lines and those that begin with # are left out. Problems name the line, never what is in it.
 */
export function parseTokens(text: string): { tokens: readonly StaticToken[]; problems: readonly SafeText[] } {
  const tokens: StaticToken[] = [];
  const problems: SafeText[] = [];
  const taken = { names: new Set<string>(), digests: new Set<string>() };
  for (const [index, line] of text.split('\n').entries()) {
    const [name = '', digest = '', ...scopes] = line.trim().split(/\s+/);
    if (name === '' || name.startsWith('#')) continue;
    const given = { name, hex: digest.toLowerCase(), scopes: scopes.length === 0 ? [readScope, writeScope] : scopes };
    const problem = problemOf(given, taken);
    if (problem === undefined) {
      tokens.push({ name, digest: Buffer.from(given.hex, 'hex'), scopes: given.scopes });
      taken.names.add(name);
      taken.digests.add(given.hex);
    } else problems.push(say`Line ${index + 1} of the tokens file ${problem}.`);
  }
  if (tokens.length === 0 && problems.length === 0) problems.push(say`The tokens file has no tokens.`);
  return { tokens, problems };
}

/** The problem of a line, if it has one, as the end of a sentence. `taken` is from earlier lines. */
function problemOf(
  { name, hex, scopes }: Principal & { readonly hex: string },
  taken: { readonly names: ReadonlySet<string>; readonly digests: ReadonlySet<string> },
): SafeText | undefined {
  if (name.length > maximumName) return say`has a name of more than ${maximumName} characters`;
  if (!/^[0-9a-f]{64}$/.test(hex)) return say`has no SHA-256 in hex after the name`;
  if (scopes.some((scope) => !knownScopes.includes(scope) && !isAccountScope(scope)))
    return say`names a scope that is none of ${namesOf(knownScopes)} and names no account`;
  if (scopes.includes(approveScope) && !decidesOnly(scopes))
    return say`gives ${own(approveScope)} together with what callers do; a token that decides can do nothing else`;
  if (taken.names.has(name)) return say`has the name of an earlier line`;
  return taken.digests.has(hex) ? say`has the token of an earlier line` : undefined;
}

/**
 * The text of a tokens file.
 * @throws NodeJS.ErrnoException, or Error if it is not a regular file or larger than 1 MiB
 */
export async function readTokensFile(path: string): Promise<string> {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile() || stats.size > maximumBytes) throw new Error('not a regular file of at most 1 MiB');
  return await file.readFile('utf8');
}

interface TokensFileOptions {
  /** The file as it was at the start, without problems. */
  readonly text: string;
  readonly read: () => Promise<string>;
  readonly now: () => Date;
  readonly log: Log;
}

const rereadAfterMs = 1000;

/** Authenticates by a file, and knows what its lines say now. */
export type AuthenticateByFile = Authenticate & {
  /** The caller with a name and its scopes, if the file has it. */
  readonly principalNamed: (name: string) => Promise<Principal | undefined>;
};

/** Undefined while the file cannot be read. */
type Contents = { readonly text: string; readonly tokens: readonly StaticToken[] } | undefined;

/**
 * Authenticates by the tokens of a file, which is read again at most once a second, so that a token can be revoked without
 * a restart. A file with a mistake revokes tokens but adds none; while it cannot be read, no caller is authenticated.
 */
export function authenticateByTokensFile({ text, read, now, log }: TokensFileOptions): AuthenticateByFile {
  let good = parseTokens(text).tokens;
  let contents: Promise<Contents> = Promise.resolve({ text, tokens: good });
  let readAt = now().getTime();

  const readAgain = async (before: Contents): Promise<Contents> => {
    const changed = await read().catch((error: unknown) => {
      if (before) log('error', 'tokens file', { problems: [`It cannot be read (${reasonOf(error)}).`] });
    });
    if (changed === undefined) return undefined;
    if (changed === before?.text) return before;
    const { tokens, problems } = parseTokens(changed);
    if (problems.length > 0) {
      log('error', 'tokens file', { problems: problems.slice(0, 10), problemCount: problems.length });
      return { text: changed, tokens: inBoth(good, tokens) };
    }
    good = tokens;
    log('info', 'tokens file', { tokens: tokens.length });
    return { text: changed, tokens };
  };

  const currentContents = async () => {
    const at = now().getTime();
    if (Math.abs(at - readAt) >= rereadAfterMs) {
      readAt = at;
      contents = contents.then(readAgain);
    }
    return contents;
  };

  const principalNamed = async (wanted: string): Promise<Principal | undefined> => {
    const found = (await currentContents())?.tokens.find(({ name }) => name === wanted);
    return found && { name: found.name, scopes: found.scopes };
  };

  const authenticate: Authenticate = async (token) => {
    const current = await currentContents();
    if (current === undefined) return { kind: 'unavailable', reason: 'tokens file' };
    const digest = createHash('sha256').update(token).digest();
    // The time must not tell how much of a digest was right, nor its place in the file.
    const [found] = current.tokens.filter((candidate) => timingSafeEqual(candidate.digest, digest));
    if (found === undefined) return { kind: 'invalid', reason: 'unknown token' };
    return { kind: 'authenticated', principal: { name: found.name, scopes: found.scopes } };
  };
  return Object.assign(authenticate, { principalNamed });
}

/** The tokens and scopes that are in both versions of a file. */
function inBoth(earlier: readonly StaticToken[], later: readonly StaticToken[]): StaticToken[] {
  const named = new Map(later.map((token) => [token.name, token]));
  return earlier.flatMap((token) => {
    const same = named.get(token.name);
    if (same === undefined || !same.digest.equals(token.digest)) return [];
    return { ...token, scopes: same.scopes.filter((scope) => token.scopes.includes(scope)) };
  });
}
