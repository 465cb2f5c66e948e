import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRecord, truncateRecord } from '../../src/calls/read-record.js';
import { render } from '../../src/calls/result-text.js';
import { operations } from '../../src/tools/index.js';
import { parseBody } from '../../src/transport/parse-body.js';
import { readServiceError } from '../../src/transport/service-error.js';
import { problems } from '../support/rules.js';
import { runs } from '../support/runs.js';

/** Whatever a service or an agent sends: no exception, no hang, and texts that stay bounded. */

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_name, operation) => {
  /** Names that mean something to the operation, so that random values get past the first field. */
  const names = fc.constantFrom(
    ...new Set(JSON.stringify(operation.output().toJSONSchema()).match(/[a-zA-Z]{2,}/g)),
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
      fc.property(tree, (value) => {
        const body = parseBody(JSON.stringify(value) ?? '');
        const found = operation.extract(body.kind === 'json' ? body.value : value, operation.example, {}, 200);
        const { record, warnings } = readRecord((operation.pages?.page ?? operation.output)(), found);
        const { pages, example } = operation;
        const step = pages?.add(
          pages.start(example),
          { record, number: 1, receivedAt: '2026-11-20T12:00:00.000Z' },
          example,
        );
        const combined =
          step === undefined ? record : (pages?.result(step.state, example, { mayHaveMore: false }) ?? record);
        expect(
          typeof (operation.summarize(combined, operation.example) + render(truncateRecord(combined).record).join('')),
        ).toBe('string');
        expect(warnings.length).toBeLessThanOrEqual(22);
        expect([undefined, 'end', 'next']).toContain(step?.kind);
        readServiceError(body, {});
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('validates random arguments', () => {
    fc.assert(
      fc.property(tree, (args) => {
        for (const line of problems(operation, args)) expect(line).not.toMatch(/[\n\u202e\u200b]/);
      }),
      { numRuns: runs(2000) },
    );
  });
});
