import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ResolvedChange } from '../../src/calls/resolved-call.js';
import { acceptOf, makePlan, questionText } from '../../src/changes/plan.js';
import { questionLimits } from '../../src/mcp/client-quirks.js';
import { fixedKeys } from '../../src/signing/keys.js';
import { apiProfile } from '../../src/signing/signature-variants.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { operations } from '../../src/tools/index.js';
import { encodeRequest } from '../../src/transport/request.js';
import { fromServer, type Part } from '../../src/util/safe-text.js';
import { callOf as callWith } from '../support/planned-call.js';
import { requestOf } from '../support/request-of.js';
import { runs } from '../support/runs.js';

/**
 * Claude Code shows three lines of a question, cut to the width of the terminal, and nothing that unfolds the rest. A person who reads
 * only these lines has to know what they decide on.
 *
 * If a new tool fails here: name the resource in its `headline` and in its `accept`, wrap in `detail` the words of the headline that may be
 * left out, keep `accept` short, and set `costsMoney` and `irreversible`. The second line is made from these two, the third from region
 * and account.
 */

const visibleLines = 3;
const visibleColumns = 70;
/** Of an option. */
const visibleLabel = 48;

function callOf(operation: Operation, input: Readonly<Record<string, unknown>>, accountName?: string): ResolvedChange {
  if (operation.change === undefined) throw new Error(`${operation.name} is no change`);
  const endpoint = {
    origin: 'https://api.example.com',
    pathPrefix: '',
    region: 'jp-east-1',
    service: 'devops',
    profile: apiProfile,
    account: 'default',
    keys: fixedKeys({ accessKeyId: 'AKIDTEST', secretAccessKey: 's' }),
  };
  const call = { ...callWith({}), operation, change: operation.change, input, endpoint, keyId: 'AKIDTEST' };
  const request = encodeRequest('POST', requestOf(operation, input), endpoint);
  return { ...call, request, shownInput: input, shownRequest: request, regionSource: 'default', accountName };
}

const changes = operations.filter(({ change }) => change !== undefined);
const visible = (call: ResolvedChange) =>
  questionText(makePlan(call), call, questionLimits, new Date(0))?.text.split('\n').slice(0, visibleLines) ?? [];

/** The values and the words of a text, each whole and without the marks at its ends. */
const leaves = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => {
    if (part.kind !== 'message') return fromServer([part]).text.replace(/^[\s,:;]+|[\s.]+$/g, '');
    return part.words.flatMap((text, index) => leaves([{ kind: 'words', text }, ...(part.values[index] ?? [])]));
  });

/** A change that costs nothing and can be undone, such as a file of operations may add. */
const harmless = changes.slice(0, 1).map((operation) => ({
  ...operation,
  name: 'a change without risks',
  effect: 'alter' as const,
  ...(operation.change && { change: { ...operation.change, costsMoney: false, irreversible: false } }),
}));

describe.each([...changes, ...harmless])('$name', (operation) => {
  const example = operation.input().parse(operation.example);
  const isFinal = operation.change?.irreversible ?? operation.effect === 'delete';
  const hasRisk = operation.change?.costsMoney === true || isFinal;

  test('tells in the visible lines what it does, what it costs, whether there is a way back, and where', () => {
    const [what = '', ...others] = visible(callOf(operation, example));
    expect(what).toMatch(/^[A-Z].*\?$/);
    const said = others.join(' ');
    expect(said.includes('It costs money.')).toBe(operation.change?.costsMoney);
    expect(said.includes('cannot be undone')).toBe(isFinal);
    expect(said).toMatch(/jp-east-1/);
    expect(said).toContain('account AKIDTEST');
  });

  test('on the sandbox, says so, and as much of the place as there is room for, whole', () => {
    const { endpoint, ...call } = callOf(operation, example, 'short');
    const where = visible({ ...call, endpoint: { ...endpoint, isSandbox: true } })[hasRisk ? 2 : 1];
    expect(where).toMatch(
      /^The built-in sandbox(, (region|request sent to) jp-east-1)?(, zone east-11)?, account short.$/,
    );
  });

  test('has the risk in the words that agree', () => {
    const words = acceptOf(callOf(operation, example));
    expect(words.text.includes('costs money')).toBe(operation.change?.costsMoney);
    if (operation.effect === 'delete') expect(words.text).toContain('no way back');
  });

  test('keeps within the columns, whatever names are given, and names all of them in full below', () => {
    const name = fc.string({
      unit: fc.constantFrom('a', 'b', '-', ' ', '(', '"', ':', '\\', '\u202e', '名'),
      minLength: 1,
      maxLength: 60,
    });
    const texts = Object.keys(example).filter((path) => typeof example[path] === 'string');
    fc.assert(
      fc.property(fc.array(name, { minLength: texts.length, maxLength: texts.length }), name, (names, account) => {
        const input = { ...example, ...Object.fromEntries(texts.map((path, index) => [path, names[index]])) };
        const call = callOf(operation, input, account);
        // Without a risk, the first two lines are the decision.
        const lines = visible(call).slice(0, hasRisk ? visibleLines : visibleLines - 1);
        for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(visibleColumns);
        expect(lines.join(' ').includes('costs money')).toBe(operation.change?.costsMoney);
        expect(/ \((costs money|no way back)\)$/.test(acceptOf(call).text)).toBe(hasRisk);
        expect(acceptOf(call).text.length).toBeLessThanOrEqual(visibleLabel);
        const question = questionText(makePlan(call), call, questionLimits, new Date(0))?.text;
        for (const part of leaves(makePlan(call).summary.parts)) expect(question).toContain(part);
      }),
      { numRuns: runs(200) },
    );
  });
});
