import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keptPlanKey, planKeyProblem } from '../../src/consent/plan-key.js';
import { createConsentTokens, newNonce } from '../../src/consent/tokens.js';

/** The key that is kept beside a journal is for planIds alone, and for one user alone. */

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  path = join(folder, 'state', 'journal.db.plan-key');
});
afterEach(() => rmSync(folder, { recursive: true }));

const good = `${'a'.repeat(64)}\n`;

describe('the key', () => {
  test('is made when it is first needed, for this user alone, and is the same for every process', () => {
    const keyOf = keptPlanKey(path);
    expect(planKeyProblem(path)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
    const keys = keyOf();
    expect(keys).toEqual([expect.any(Buffer)]);
    expect(keptPlanKey(path)()).toEqual(keys);
    expect(planKeyProblem(path)).toBeUndefined();
    expect(readdirSync(join(folder, 'state'))).toEqual(['journal.db.plan-key']);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each([good, good.trim(), good.replace('\n', '\r\n')])('is taken from a file that has it: %j', (text) => {
    const own = join(folder, 'key');
    writeFileSync(own, text, { mode: 0o600 });
    expect(keptPlanKey(own)()).toEqual([Buffer.alloc(32, 0xaa)]);
  });

  test.skipIf(process.platform === 'win32')('is made with its folders, which are for this user alone', () => {
    expect(keptPlanKey(join(folder, 'a', 'b', 'key'))()).toEqual([expect.any(Buffer)]);
    for (const each of ['a', 'a/b']) expect(statSync(join(folder, each)).mode & 0o777).toBe(0o700);
  });

  test.each(['', 'ab\n', `${'z'.repeat(64)}\n`, 'a'.repeat(1000)])(
    'is none of a file that says %j, which stays',
    (text) => {
      const own = join(folder, 'key');
      writeFileSync(own, text, { mode: 0o600 });
      const told: string[] = [];
      const keyOf = keptPlanKey(own, ({ text }) => told.push(text));
      for (const _ of ['first', 'second']) expect(keyOf()).toBeUndefined();
      expect(told).toEqual(['it holds no key, or others can read it']);
      expect(planKeyProblem(own)?.text).toBe('it holds no key, or others can read it');
      expect(readFileSync(own, 'utf8')).toBe(text);
    },
  );

  test.skipIf(process.platform === 'win32')('is none of a file that others can read, or of a link', () => {
    const own = join(folder, 'key');
    writeFileSync(own, good, { mode: 0o600 });
    symlinkSync(own, join(folder, 'link'));
    expect(keptPlanKey(join(folder, 'link'))()).toBeUndefined();
    expect(planKeyProblem(join(folder, 'link'))?.text).toBe('ELOOP');
    chmodSync(own, 0o640);
    expect(keptPlanKey(own)()).toBeUndefined();
    expect(planKeyProblem(own)?.text).toBe('it holds no key, or others can read it');
  });

  test('is none where it cannot be kept', () => {
    expect(keptPlanKey(folder)()).toBeUndefined();
  });
});

describe('what is signed with it', () => {
  const now = () => new Date('2026-11-20T12:00:00Z');
  const kept = () => ['p'.repeat(32)] as const;
  const [here, there] = ['a', 'b'].map((own) => createConsentTokens(() => [own.repeat(32)], '', now, kept));
  const issued = (use: 'plan' | 'question' | 'handle') =>
    here?.issue({ use, digest: 'd'.repeat(32), nonce: newNonce() }) ?? '';

  test('is a planId that carries out its plan, which every process with it knows', () => {
    expect(there?.verify(issued('plan'))).toMatchObject({ use: 'plan' });
  });

  test.each(['question', 'handle'] as const)('is no %s: that belongs to one process', (use) => {
    expect(here?.verify(issued(use))).toMatchObject({ use });
    expect(() => there?.verify(issued(use))).toThrow('forged');
    const withKept = createConsentTokens(kept, '', now);
    expect(() => here?.verify(withKept.issue({ use, digest: 'd'.repeat(32), nonce: newNonce() }))).toThrow('forged');
  });
});
