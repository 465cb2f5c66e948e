import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import parts from './parts.json' with { type: 'json' };

/** The table of what Stryker mutates misses no file of the rooms that a score is promised for. */

const groups = Object.values(parts).flat();
const mutated = groups.flatMap(({ mutate }) => mutate.split(' '));

/** Tests of these need a database: `*.process.test.ts`. */
const inDatabase = /^changes\/postgres(?!-address)/;

describe.each(['changes', 'signing'])('%s', (room) => {
  const files = readdirSync(`src/${room}`).map((name) => `${room}/${name.replace(/\.ts$/, '')}`);

  test.each(files.filter((file) => !inDatabase.test(file)))('%s is mutated', (file) => {
    expect(mutated.filter((each) => each === file)).toEqual([file]);
  });
});

test.each(mutated)('src/%s.ts is there', (file) => {
  expect(existsSync(`src/${file}.ts`)).toBe(true);
});

test.each([...new Set(groups.flatMap(({ tests }) => tests.split(' ')))])('test/%s.test.ts is there', (file) => {
  expect(existsSync(`test/${file}.test.ts`)).toBe(true);
});
