import { expect, test } from 'vitest';
import { answerLines } from '../../src/cli/answer-layout.js';
import { localTimeIn } from '../../src/cli/layout.js';

/** A person reads an answer in words and human units; the raw fields are left to `--all`. */

const units: Readonly<Record<string, string>> = { 'instance.diskSize': 'GB', 'pools[0].volumeSize': 'GB' };
const unitOf = (path: string) => units[path];
const page = { width: 80, paint: (_format: unknown, text: string) => text, localTime: localTimeIn('UTC'), unitOf };

const nineFields = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`f${index + 1}`, 'x']));

test('a record is shown by its fields, in words and without its wrapper; empty fields are left out', () => {
  const instance = {
    instanceId: 'wiki',
    diskSize: 200,
    status: { code: 200 },
    publicIpAddress: '',
    to: null,
    tags: [],
  };
  expect(answerLines({ instance }, page)).toEqual(['Instance ID  wiki', 'Disk size    200 GB', 'Status code  200']);
});

test.each([
  ['totalBytes', 100_663_296, 'Total  96.0 MiB'],
  ['bytesPerSecond', 161_319, 'Rate  157.5 KiB/s'],
  ['estimatedSecondsLeft', 168, 'Estimated left  3 min'],
  ['idleSeconds', 40, 'Idle  40 s'],
  ['size', 8_388_608, 'Size  8.0 MiB'],
  ['size', 400, 'Size  400'],
  ['partCount', 8_388_608, 'Part count  8388608'],
  ['isTruncated', false, 'Is truncated  no'],
  ['lastModified', '2026-11-20T12:00:00.000Z', 'Last modified  2026-11-20 12:00:00 UTC'],
  ['zones', ['a', 'b c'], 'Zones  a, "b c"'],
])('%s: %s has a unit that people use', (name, value, line) => {
  expect(answerLines({ [name]: value, other: 1 }, page)[0]?.replace(/ {2,}/, '  ')).toBe(line);
});

test('lists are tables, and the other fields are left to --all', () => {
  const runs = [
    { from: 1, to: 4, bytes: 33_554_432 },
    { from: 13, to: 15, bytes: 25_165_824 },
  ];
  expect(answerLines({ bucket: 'b', runs }, page)).toEqual([
    'Runs (2)',
    '  From  To  Bytes',
    '  1     4   32.0 MiB',
    '  13    15  24.0 MiB',
    '',
    '--all shows every field.',
  ]);
});

test('the numbers in a list have the unit that the operation names', () => {
  const pools = [{ name: 'a', volumeSize: 100 }];
  expect(answerLines({ pools, other: 1 }, page)[2]).toBe('  a     100 GB');
});

test('a long list says how many rows it leaves out', () => {
  const rows = Array.from({ length: 21 }, (_, index) => ({ index, text: 'x' }));
  expect(answerLines({ rows }, page).at(-1)).toBe('  and 1 more row; --all shows them');
  expect(answerLines({ rows, other: 1 }, page)).toContain('  and 1 more row; --all shows them');
});

test('a list with more fields than columns says how many it leaves out', () => {
  expect(answerLines({ things: [nineFields] }, page).at(-1)).toBe('  and 1 more column; --all shows them');
  const things = Array.from({ length: 22 }, () => ({ ...nineFields, f10: 'x' }));
  expect(answerLines({ things }, page).at(-1)).toBe('  and 2 more rows and 2 more columns; --all shows them');
});

test('the columns of a list that is wider than the page stand below their row, and nothing is cut', () => {
  const uploads = [1, 2].map((hours) => ({
    key: `backups/${'a'.repeat(30)}.tar`,
    uploadId: 'x'.repeat(60),
    initiated: '2026-11-26T20:00:00Z',
    ageHours: hours,
  }));
  expect(answerLines({ uploads }, page)).toEqual([
    'Uploads (2)',
    '  Key',
    ...[1, 2].flatMap((hours) => [
      `  backups/${'a'.repeat(30)}.tar`,
      `      Upload ID: ${'x'.repeat(60)},`,
      expect.stringMatching(new RegExp(`^      Initiated: 2026-11-26 .*, Age hours: ${hours}$`)),
    ]),
  ]);
});

test.each<[what: string, record: object, columns: RegExp]>([
  [
    'a field',
    { name: 'n', ...nineFields, dbInstanceStatus: 'ready' },
    /^ {2}Name {2}Db instance status {2}F1 {2}F2 {2}F3 {2}F4 {2}F5 {2}F6$/,
  ],
  [
    'a structure',
    { name: 'n', ...nineFields, state: { name: 'on', code: 1 } },
    /^ {2}Name {2}State name {2}State code {2}F1 {2}F2 /,
  ],
  ['the first field', { phase: 'on', ...nineFields }, /^ {2}Phase {2}F1 {2}F2 /],
  [
    'a field, as in its inner lists',
    { name: 'n', ...nineFields, groups: [{ status: 'a' }], jobPhase: 'on' },
    /^ {2}Name {2}Job phase {2}F1 {2}F2 /,
  ],
  ['no field', { name: 'n', ...nineFields, statement: 's' }, /^ {2}Name {2}F1 {2}F2 {2}F3 {2}F4 {2}F5 {2}F6 {2}F7$/],
])('the state of the things in a list is among the columns if it is %s', (_what, record, columns) => {
  expect(answerLines({ things: [record] }, { ...page, width: 120 })[1]).toMatch(columns);
});

test('a long list of texts says how many it leaves out', () => {
  const names = Array.from({ length: 6_786 }, (_, index) => `t${index}`);
  const [line = '', ...others] = answerLines({ names }, { ...page, width: Number.POSITIVE_INFINITY });
  expect(others).toEqual([]);
  expect(line).toMatch(/t18, t19, and 6766 more; --all shows them$/);
});

test('an upload has a bar', () => {
  expect(answerLines({ percent: 50, parts: [{ partNumber: 1 }] }, page)[0]).toBe(
    `${'█'.repeat(15)}${'░'.repeat(15)} 50%`,
  );
});

test('a field or a value cannot pass for another line or column', () => {
  const lines = answerLines({ 'a\nb': 'yes\nConsent  given', list: [{ 'x  y': 'p  q' }] }, page).join('\n');
  expect(lines).not.toMatch(/^Consent/m);
  expect(lines).toContain('"p  q"');
});

test('an entry of 200,000 fields is shown by its first ones', () => {
  const state = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`state${index}`, 'x']));
  const lines = answerLines({ items: [{ id: 'a', state }] }, page);
  expect(lines.at(-1)).toMatch(/and .* more columns; --all shows them/);
});
