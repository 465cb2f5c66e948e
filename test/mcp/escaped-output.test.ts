import { Writable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEscapedOutput } from '../../src/mcp/messages.js';
import { everyInvisible } from '../../src/util/quote.js';
import { runs } from '../support/runs.js';

test('what a client reads is what was written, and the raw text shows nothing invisible but the ends of its lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue({ stringUnit: 'binary' }), { minLength: 1, maxLength: 5 }),
      async (values) => {
        const chunks: Buffer[] = [];
        const stdout = new Writable({
          write(chunk, _encoding, done) {
            chunks.push(chunk);
            setImmediate(done);
          },
        });
        const output = createEscapedOutput(stdout);
        const lines = values.map((value) => JSON.stringify(value));
        for (const line of lines) output.write(`${line}\n`);
        await new Promise((resolve) => output.end(resolve));

        const raw = Buffer.concat(chunks).toString('utf8');
        expect(
          raw
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line)),
        ).toEqual(lines.map((line) => JSON.parse(line)));
        expect(raw.replaceAll('\n', '').search(everyInvisible)).toBe(-1);
      },
    ),
    { numRuns: runs(300) },
  );
});

test('a stdout that fails is reported', async () => {
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(new Error('gone')) });
  stdout.on('error', () => undefined);
  const output = createEscapedOutput(stdout);
  const failed = new Promise((resolve) => output.once('error', resolve));
  output.write('{}\n');
  expect(await failed).toMatchObject({ message: 'gone' });
});
