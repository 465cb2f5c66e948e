import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRecord } from '../../src/calls/read-reply.js';
import { render } from '../../src/calls/result-text.js';
import { operations } from '../../src/tools/index.js';
import { parseBody } from '../../src/transport/parse-body.js';
import { readServiceError } from '../../src/transport/service-error.js';
import { anyText } from '../support/any-text.js';
import { never, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';
import { problems, withValue } from '../support/rules.js';
import { runs } from '../support/runs.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';

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
      anyText(),
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
        expect(typeof (operation.summarize(combined, operation.example) + render(combined).join(''))).toBe('string');
        expect(warnings.length).toBeLessThanOrEqual(22);
        expect([undefined, 'end', 'next']).toContain(step?.kind);
        readServiceError(body, {});
      }),
      { numRuns: runs(3000) },
    );
  });

  const oddValues = [
    undefined,
    null,
    '',
    ' ',
    '..',
    'a\u202eb',
    '\ud800',
    0,
    -1,
    1.5,
    2 ** 53,
    true,
    [],
    [[]],
    [null],
    {},
  ];
  const oddCalls = Object.keys(operation.input().shape).flatMap((name) =>
    oddValues.map((value) => withValue({ ...operation.example }, name, value)),
  );

  test('makes a plan or a request of odd arguments, or says what is wrong', async () => {
    const { openClient } = scriptedClient(async () => answeredBy(500, { kind: 'empty' }));
    const { call, close } = testCaller('http://127.0.0.1:1', {
      openClient,
      policy: { ...openPolicy, extensions: ['s3'] },
    });
    for (const args of oddCalls) {
      const steering = operation.change === undefined ? {} : { planOnly: true };
      const { text } = await call(operation, { ...args, ...steering }, { signal: never });
      expect(text).not.toContain('this server made a mistake');
    }
    await close();
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
