import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { followPassword } from '../../src/changes/postgres.js';

const url = 'postgres://cloudops:first@db.example.com:5432/cloudops?sslmode=verify-full';

describe('the address of a database from a file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-address-'));
    file = join(folder, 'journal');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test.each([
    ['in front of the host', url, url.replace('first', 's%2Fcond')],
    ['among the parameters', `${url}&password=first`, `${url}&password=second`],
    ['that was not there', url.replace(':first', ''), url],
  ])('has a new password at once: %s', (_where, before, after) => {
    writeFileSync(file, before);
    const current = followPassword(before, file);
    expect(current()).toBe(before);
    writeFileSync(file, `${after}\n`);
    expect(current()).toBe(after);
  });

  test.each([
    ['another host', url.replace('db.', 'other.').replace('first', 'second')],
    ['another user', url.replace('cloudops:first', 'other:second')],
    ['another database', url.replace('/cloudops?', '/other?').replace('first', 'second')],
    ['less encryption', url.replace('?sslmode=verify-full', '').replace('first', 'second')],
    ['no address', 'second'],
    ['nothing', ''],
  ])('stays with its last password if the file has %s', (_what, text) => {
    const last = url.replace('first', 'last');
    writeFileSync(file, last);
    const current = followPassword(url, file);
    expect(current()).toBe(last);
    writeFileSync(file, text);
    expect(current()).toBe(last);
  });

  test('stays if the file is gone, or is none that ends', () => {
    const current = followPassword(url, file);
    expect(current()).toBe(url);
    mkdirSync(file);
    expect(current()).toBe(url);
    expect(followPassword(url, '/dev/zero')()).toBe(url);
  });

  test('stays if it came from a variable', () => {
    expect(followPassword(url, undefined)()).toBe(url);
  });
});
