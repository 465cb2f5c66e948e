import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isAccountScope } from '../calls/account.js';
import { approveScope, type Principal, readScope, scopes as serverScopes, writeScope } from '../calls/policy.js';
import { type Log, reasonOf, ShownError } from '../util/log.js';
import { regularFile } from '../util/regular-file.js';
import { namesOf, own, type SafeText, say, words } from '../util/safe-text.js';
import type { Authenticate, Authentication } from './auth.js';

/** This server knows only the SHA-256 of the token. */
interface StaticToken extends Principal {
  readonly personId: string;
  readonly digest: Buffer;
}

/** Ignores case and the ways in which Unicode writes the same letter. */
const personIdOf = (name: string): string => name.normalize('NFKC').toLowerCase();

const knownScopes = [...serverScopes, approveScope];

/** True if these scopes allow deciding on changes and nothing else. */
export const decidesOnly = (scopes: readonly string[]): boolean =>
  scopes.includes(approveScope) && scopes.every((scope) => scope === approveScope || isAccountScope(scope));

/** In characters. */
const maximumName = 255;

/** Parses lines with a name, a SHA-256 in hex, and scopes. Problems never quote a line. */
export function parseTokens(text: string): { tokens: readonly StaticToken[]; problems: readonly SafeText[] } {
  const tokens: StaticToken[] = [];
  const problems: SafeText[] = [];
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

/** @throws ShownError if the file is not regular or larger than 1 MiB, or NodeJS.ErrnoException */
export async function readTokensFile(path: string): Promise<string> {
  const { size = 0 } = regularFile(path) ?? {};
  if (size > 1024 * 1024) throw new ShownError(words('it is larger than 1 MiB'));
  return readFile(path, 'utf8');
}

const rereadAfterMs = 1000;

interface Contents {
  /** Undefined if the file could not be read. Then no token is accepted. */
  readonly text: string | undefined;
  readonly tokens: readonly StaticToken[];
  readonly lastGood: readonly StaticToken[];
}

/** Authenticates by a tokens file, which is read again. A file with a mistake can revoke tokens and scopes, but add none. */
export function authenticateByTokensFile(options: {
  readonly text: string;
  readonly read: () => Promise<string>;
  readonly now: () => Date;
  readonly log: Log;
}) {
  const { text, read, now, log } = options;
  const { tokens: firstTokens } = parseTokens(text);
  let contents: Contents = { text, tokens: firstTokens, lastGood: firstTokens };
  let readAt = now().getTime();
  let reading = Promise.resolve();

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
      return { text: newText, tokens: inBoth(previous.lastGood, tokens), lastGood: previous.lastGood };
    }
    log('info', 'tokens file', { tokens: tokens.length });
    return { text: newText, tokens, lastGood: tokens };
  };

  /** Concurrent requests share one read. */
  const currentContents = async () => {
    const currentTime = now().getTime();
    // The clock may have been set back.
    if (Math.abs(currentTime - readAt) >= rereadAfterMs) {
      readAt = currentTime;
      reading = reading.then(async () => {
        contents = await readAgain(contents);
      });
    }
    await reading;
    return contents;
  };

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

  const callerNamed = (wantedName: string) =>
    ownerOf((tokens) => tokens.find(({ personId }) => personId === personIdOf(wantedName)), 'unknown caller');

  const authenticate: Authenticate = (token) => {
    const digest = createHash('sha256').update(token).digest();
    // Constant time for all tokens, so that the duration reveals no digest and no line.
    const withDigest = (tokens: readonly StaticToken[]) =>
      tokens.filter((candidate) => timingSafeEqual(candidate.digest, digest))[0];
    return ownerOf(withDigest, 'unknown token');
  };
  /** Also begins a due read, because a server that is not ready gets no requests. */
  const isReadable = () => {
    void currentContents();
    return contents.text !== undefined;
  };
  return Object.assign(authenticate, { callerNamed, isReadable });
}

function inBoth(earlier: readonly StaticToken[], later: readonly StaticToken[]): StaticToken[] {
  const laterById = new Map(later.map((token) => [token.personId, token]));
  return earlier.flatMap((token) => {
    const laterToken = laterById.get(token.personId);
    if (laterToken === undefined || !laterToken.digest.equals(token.digest)) return [];
    return { ...token, scopes: laterToken.scopes.filter((scope) => token.scopes.includes(scope)) };
  });
}
