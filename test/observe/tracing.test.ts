import { expect, test } from 'vitest';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { withTracing } from '../../src/observe/tracing.js';
import { listParts } from '../../src/tools/list-parts.js';
import { next } from '../../src/tools/next.js';
import { say } from '../../src/util/safe-text.js';
import type { Span } from '../../src/util/trace.js';
import { never } from '../support/caller.js';

const succeeded: CallOutcome = {
  kind: 'succeeded',
  success: { summary: say`Done.`, warnings: [], requestIds: {} },
};
const failed: CallOutcome = {
  kind: 'failed',
  failure: {
    summary: say`Failed.`,
    code: 'Http500',
    problems: [],
    next: next('nobody', 'none', 'Stop.'),
    requestIds: {},
  },
};

test.each([
  ['a success', succeeded, 'ok', undefined],
  ['a failure', failed, 'failed', 'tool_error'],
])('the span of a call has its tool and its trace, and ends with %s', async (_what, outcome, label, error) => {
  const events: unknown[] = [];
  const span: Span = { child: () => span, end: (...given) => events.push(given) };
  const traced = withTracing(
    async (_operation, args, context) => {
      events.push([args, context.span === span]);
      return outcome;
    },
    (...given) => {
      events.push(given);
      return span;
    },
  );
  const tracedRequest = { mcpReq: { id: 1, _meta: { traceparent: 'parent in _meta' } } };
  const trace = {
    traceparent: 'parent in _meta',
    attributes: { 'jsonrpc.request.id': '1', 'network.transport': 'pipe' },
  };
  const context = { signal: never, client: 'test 1' };
  const attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'list_parts',
  };
  expect(await traced(listParts, { a: 1 }, { ...context, tracedRequest })).toBe(outcome);
  await traced(listParts, { a: 2 }, context);
  expect(events).toEqual([
    ['tools/call list_parts', { ...attributes, ...trace.attributes }, trace],
    [{ a: 1 }, true],
    [{ 'cloudops.outcome': label }, error],
    ['tools/call list_parts', attributes, {}],
    [{ a: 2 }, true],
    [{ 'cloudops.outcome': label }, error],
  ]);
});
