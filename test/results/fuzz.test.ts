import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validate } from '../../src/calls/validate.js';
import { readRecord } from '../../src/results/record.js';
import { render } from '../../src/results/render.js';
import { readServiceError } from '../../src/results/service-error.js';
import { operations } from '../../src/tools/index.js';
import { parseBody } from '../../src/transport/body.js';
import { runs } from '../support/runs.js';

/** Whatever a service or an agent sends: no exception, no hang, and texts that stay bounded. */

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_name, operation) => {
  /** Names that mean something to the operation, so that random values get past the first field. */
  const names = fc.constantFrom(
    ...new Set(JSON.stringify(operation.output.toJSONSchema()).match(/[a-zA-Z]{2,}/g)),
    'ListPartsResult',
    'Part',
    'IsTruncated',
    '__proto__',
    'constructor',
  );
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('true', '12', ''),
    ),
    list: fc.array(tie('tree'), { maxLength: 4 }),
    object: fc.dictionary(names, tie('tree'), { maxKeys: 8 }),
    tree: fc.oneof({ maxDepth: 5 }, tie('leaf'), tie('list'), tie('object')),
  }));

  test('reads random JSON answers', () => {
    fc.assert(
      fc.property(tree, fc.boolean(), (value, fromText) => {
        const body = parseBody(JSON.stringify(value) ?? '');
        const found = operation.record(body.kind === 'json' ? body.value : value);
        const { record, warnings } = readRecord(operation.pages?.page ?? operation.output, found, { fromText });
        const pages = [{ record }];
        const next = operation.pages?.next({}, pages);
        const combined = operation.pages?.combine({}, pages) ?? record;
        expect(typeof (operation.explain(combined) + render(combined))).toBe('string');
        expect(warnings.length).toBeLessThanOrEqual(21);
        expect(next === undefined || 'problem' in next || 'input' in next).toBe(true);
        readServiceError(body);
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('validates random arguments', () => {
    fc.assert(
      fc.property(tree, (args) => {
        const validation = validate(operation, args);
        if (!validation.ok) for (const line of validation.problems) expect(line).not.toMatch(/[\n\u202e\u200b]/);
      }),
      { numRuns: runs(2000) },
    );
  });
});
