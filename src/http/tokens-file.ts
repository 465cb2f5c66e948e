import { createHash, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAccountScope } from '../calls/account.js';
import { approveScope, type Principal, readScope, scopes as serverScopes, writeScope } from '../calls/policy.js';
import { type Log, reasonOf } from '../util/log.js';
import { namesOf, own, type SafeText, say } from '../util/safe-text.js';
import type { Authenticate, Authentication } from './auth.js';

/** A line of the tokens file. This server does not know the token itself, only its SHA-256. */
interface StaticToken extends Principal {
  /** The name in lower case. Names that differ only in case are of one person. */
  readonly personId: string;
  readonly digest: Buffer;
}

/** Makes names comparable without regard to case and to the ways in which Unicode writes the same letter. */
const personIdOf = (name: string): string => name.normalize('NFKC').toLowerCase();

/** The scopes that a line may have, in addition to scopes that name accounts. */
const knownScopes = [...serverScopes, approveScope];

/** True if a token with these scopes can decide on changes and nothing else. It may also have scopes that limit it to some accounts. */
export const decidesOnly = (scopes: readonly string[]): boolean =>
  scopes.includes(approveScope) && scopes.every((scope) => scope === approveScope || isAccountScope(scope));

const maximumBytes = 1024 * 1024;
const maximumName = 255;

/**
 * Parses a tokens file. A line has a name, the SHA-256 of the token in hex, and optional scopes, which default to reading and writing. A
 * token with `cloudops:approve` is only for the decision page, so its other scopes may only name accounts. Empty lines
 * and lines that begin with # are skipped. A problem gives the number of its line and never quotes the line.
 */
export function parseTokens(text: string): { tokens: readonly StaticToken[]; problems: readonly SafeText[] } {
  const tokens: StaticToken[] = [];
  const problems: SafeText[] = [];
  /** The values of the earlier lines. */
  const taken = { personIds: new Set<string>(), digests: new Set<string>() };
  for (const [index, line] of text.split('\n').entries()) {
    const [name = '', digestText = '', ...scopes] = line.trim().split(/\s+/);
    if (name === '' || name.startsWith('#')) continue;

    const digestHex = digestText.toLowerCase();
    const entry = { name, digestHex, scopes: scopes.length === 0 ? [readScope, writeScope] : scopes };
    const problem = problemOf(entry, taken);
    if (problem === undefined) {
      const personId = personIdOf(name);
      tokens.push({ name, personId, digest: Buffer.from(digestHex, 'hex'), scopes: entry.scopes });
      taken.personIds.add(personId);
      taken.digests.add(digestHex);
    } else {
      problems.push(say`Line ${index + 1} of the tokens file ${problem}.`);
    }
  }
  if (tokens.length === 0 && problems.length === 0) problems.push(say`The tokens file has no tokens.`);
  return { tokens, problems };
}

/** The problem of a line, as the end of a sentence; undefined if there is none. */
function problemOf(
  { name, digestHex, scopes }: Principal & { readonly digestHex: string },
  taken: { readonly personIds: ReadonlySet<string>; readonly digests: ReadonlySet<string> },
): SafeText | undefined {
  if (name.length > maximumName) return say`has a name of more than ${maximumName} characters`;
  if (!/^[0-9a-f]{64}$/.test(digestHex)) return say`has no SHA-256 in hex after the name`;
  if (scopes.some((scope) => !knownScopes.includes(scope) && !isAccountScope(scope)))
    return say`names a scope that is none of ${namesOf(knownScopes)} and names no account`;
  if (scopes.includes(approveScope) && !decidesOnly(scopes))
    return say`gives ${own(approveScope)} together with what callers do; a token that decides can do nothing else`;
  if (taken.personIds.has(personIdOf(name))) return say`has the name of an earlier line`;
  return taken.digests.has(digestHex) ? say`has the token of an earlier line` : undefined;
}

/** Reads the text of a tokens file. @throws NodeJS.ErrnoException, or Error if it is not a regular file or larger than 1 MiB */
export async function readTokensFile(path: string): Promise<string> {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile() || stats.size > maximumBytes) throw new Error('not a regular file of at most 1 MiB');
  return await file.readFile('utf8');
}

interface TokensFileOptions {
  readonly text: string;
  readonly read: () => Promise<string>;
  readonly now: () => Date;
  readonly log: Log;
}

const rereadAfterMs = 1000;

interface Contents {
  /** Undefined if the file could not be read. Then no token is accepted. */
  readonly text: string | undefined;
  /** The accepted tokens. */
  readonly tokens: readonly StaticToken[];
  /** The tokens of the last file without a mistake. */
  readonly lastGood: readonly StaticToken[];
}

/**
 * Authenticates by a tokens file. The file is read again at most once a second, so that a token can be revoked without a restart. A
 * file with a mistake can revoke tokens and scopes, but add none. While the file cannot be read, no caller is authenticated.
 * @param text the text of the file at the start, which has no mistakes
 */
export function authenticateByTokensFile({ text, read, now, log }: TokensFileOptions) {
  const { tokens: firstTokens } = parseTokens(text);
  let contents: Contents = { text, tokens: firstTokens, lastGood: firstTokens };
  let readAt = now().getTime();
  /** Resolves when the last read has ended. */
  let reading = Promise.resolve();

  /** Reads the file again. Logs a problem only once, and nothing if the text has not changed. */
  const readAgain = async (previous: Contents): Promise<Contents> => {
    let newText: string;
    try {
      newText = await read();
    } catch (error) {
      if (previous.text !== undefined)
        log('error', 'tokens file', { problems: [`It cannot be read (${reasonOf(error)}).`] });
      return { text: undefined, tokens: [], lastGood: previous.lastGood };
    }
    if (newText === previous.text) return previous;

    const { tokens, problems } = parseTokens(newText);
    if (problems.length > 0) {
      log('error', 'tokens file', { problems: problems.slice(0, 10), problemCount: problems.length });
      // The file with a mistake can only take tokens and scopes away from the last good file.
      return { text: newText, tokens: inBoth(previous.lastGood, tokens), lastGood: previous.lastGood };
    }
    log('info', 'tokens file', { tokens: tokens.length });
    return { text: newText, tokens, lastGood: tokens };
  };

  /** Returns the contents, after reading the file again if that is due. Concurrent requests share one read. */
  const currentContents = async () => {
    const currentTime = now().getTime();
    // The absolute difference, because the clock may have been set back.
    if (Math.abs(currentTime - readAt) >= rereadAfterMs) {
      readAt = currentTime;
      reading = reading.then(async () => {
        contents = await readAgain(contents);
      });
    }
    await reading;
    return contents;
  };

  /** Authenticates the owner of the token that `find` returns. */
  const ownerOf = async (
    find: (tokens: readonly StaticToken[]) => StaticToken | undefined,
    reason: string,
  ): Promise<Authentication> => {
    const { text: currentText, tokens } = await currentContents();
    if (currentText === undefined) return { kind: 'unavailable', reason: 'tokens file' };
    const owner = find(tokens);
    if (owner === undefined) return { kind: 'invalid', reason };
    const { name, personId, scopes } = owner;
    return { kind: 'authenticated', principal: { name, personId, scopes } };
  };

  /** Finds a caller by name, without a token. */
  const callerNamed = (wantedName: string) =>
    ownerOf((tokens) => tokens.find(({ personId }) => personId === personIdOf(wantedName)), 'unknown caller');

  const authenticate: Authenticate = (token) => {
    const digest = createHash('sha256').update(token).digest();
    // Compares with all tokens, each in constant time, so that the duration reveals neither a part of a digest nor the line of a token.
    const withDigest = (tokens: readonly StaticToken[]) =>
      tokens.filter((candidate) => timingSafeEqual(candidate.digest, digest))[0];
    return ownerOf(withDigest, 'unknown token');
  };
  /** True if the last read succeeded. Also begins the next read if it is due, because a server that is not ready gets no requests that would. */
  const isReadable = () => {
    void currentContents();
    return contents.text !== undefined;
  };
  return Object.assign(authenticate, { callerNamed, isReadable });
}

/** The tokens that are in both versions of a file, each with the scopes that it has in both. */
function inBoth(earlier: readonly StaticToken[], later: readonly StaticToken[]): StaticToken[] {
  const laterById = new Map(later.map((token) => [token.personId, token]));
  return earlier.flatMap((token) => {
    const laterToken = laterById.get(token.personId);
    if (laterToken === undefined || !laterToken.digest.equals(token.digest)) return [];
    return { ...token, scopes: laterToken.scopes.filter((scope) => token.scopes.includes(scope)) };
  });
}
