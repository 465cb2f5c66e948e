import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { wordsOfText } from '../../../src/models/search/words.js';

/** Reads a file of data. A key that a table has twice is an error, because `JSON.parse` silently keeps the last one. */
function tablesOf(file: string): unknown {
  const text = readFileSync(`src/models/${file}`, 'utf8');
  const keys = text.match(/^ {4}"[^"]+":/gm) ?? [];
  const tables: unknown = JSON.parse(text);
  const parsedKeys = Object.values(Object(tables)).flatMap((table) =>
    Array.isArray(table) ? [] : Object.keys(Object(table)),
  );
  expect(keys).toHaveLength(parsedKeys.length);
  return tables;
}

const record = (key: RegExp, value: RegExp) => z.record(z.string().regex(key), z.string().regex(value));

test('the tables of words have the form that the search reads', () => {
  const phrases = /^(?:(?:\p{L}|\d|_)+(?: (?:\p{L}|\d|_)+)*)(?:, (?:(?:\p{L}|\d|_)+(?: (?:\p{L}|\d|_)+)*))*$/u;
  const meanings = /^(?:-|[a-z\d]+(?:\+[a-z\d]+)*(?: [a-z\d]+(?:\+[a-z\d]+)*)*)$/;
  const names = /^[a-z\d-]+(?: [a-z\d-]+)*$/;
  const lines = z.array(z.string().regex(/^\S+(?: \S+)*$/));
  const tables = z.strictObject({
    synonyms: record(phrases, meanings),
    otherLanguages: record(phrases, meanings),
    japanese: record(/^[^ ]*[^ -~][^ ]*(?: [^ ]*[^ -~][^ ]*)*$/, /^[\w -]+$/),
    readingWords: lines,
    fillerWords: lines,
    commonWords: lines,
    serviceKinds: record(names, /^[a-z ]+$/),
    kindsByWords: record(names, /^[a-z\d -]+(?:; [a-z\d -]+)*$/),
    foreignNames: record(/^[A-Z]\w+$/, /^[A-Z]\w+$/),
  });
  const { error, data } = tables.safeParse(tablesOf('search/vocabulary.json'));
  expect(error?.issues ?? []).toEqual([]);
  // The search compares words as `wordsOfText` writes them.
  const ofPhrases = Object.keys(data?.synonyms ?? {})
    .flatMap((phrase) => phrase.split(/, | |_/))
    .filter((word) => word !== '');
  expect(ofPhrases.filter((word) => wordsOfText(word).join() !== word)).toEqual([]);
});

test('each exception about an effect has a reason, and no operation is both a change and a read', () => {
  const reasons = record(/^[A-Z][A-Za-z\d]+$/, /^[a-z][\w ,]+$/);
  const schema = z.strictObject({
    changesNamedLikeReads: reasons,
    readsNamedLikeChanges: reasons,
    readsOfSecrets: reasons,
  });
  const { changesNamedLikeReads, readsNamedLikeChanges, readsOfSecrets } = schema.parse(
    tablesOf('effect-exceptions.json'),
  );
  const reads = new Set(Object.keys({ ...readsNamedLikeChanges, ...readsOfSecrets }));
  expect(Object.keys(changesNamedLikeReads).filter((name) => reads.has(name))).toEqual([]);
});
