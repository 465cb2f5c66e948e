import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonFault } from '../../src/models/json-fault.js';
import { parseJson } from '../../src/util/objects.js';

test.each([
  ['', 'a value is missing at the end'],
  [' nope', 'a value is missing at character 2'],
  ['{id: 1}', 'a name in double quotation marks with ":" is missing at character 2'],
  ["{'id': 1}", 'a name in double quotation marks with ":" is missing at character 2'],
  ['{"id" 1}', 'a name in double quotation marks with ":" is missing at character 2'],
  ['{"id": 1,}', 'a name in double quotation marks with ":" is missing at character 10'],
  ['{"id": 1 "b": 2}', '"," or "}" is missing at character 10'],
  ['{"id": [1, 2', '"," or "]" is missing at the end'],
  ['[1, 2,]', 'a value is missing at character 7'],
  ['{"a": "line\nbreak"}', 'a value is missing at line 1, character 7'],
  ['{\n  "a": 1,\n  b: 2\n}', 'a name in double quotation marks with ":" is missing at line 3, character 3'],
  ['{"a": True}', 'a value is missing at character 7'],
  ['[01]', '"," or "]" is missing at character 3'],
  ['{"a": {}} }', 'the end of the text is missing at character 11'],
])('%s: %s', (text, fault) => {
  expect(jsonFault(text)).toBe(fault);
});

test.each([
  ['an open text', `"${'\\\\'.repeat(20_000)}`, 'a value is missing at character 1'],
  ['an open list', `[${'1,'.repeat(20_000)}`, 'a value is missing at the end'],
  ['open lists', '['.repeat(40_000), 'a value is missing at the end'],
])('%s as long as a text may be', (_what, text, fault) => {
  expect(jsonFault(text)).toBe(fault);
});

test('a text is JSON up to the fault, wherever it was damaged', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', '"', ',', '}', ']', 'x', '\n'), (json, place, damage) => {
      const at = place % (json.length + 1);
      const text = json.slice(0, at) + damage + json.slice(at + 1);
      if (parseJson(text) !== undefined) return;
      const [, character = text.length + 1] = /character (\d+)/.exec(jsonFault(text)) ?? [];
      expect(Number(character)).toBeLessThanOrEqual(text.length + 1);
    }),
  );
});
