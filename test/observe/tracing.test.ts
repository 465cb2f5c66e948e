import { describe, expect, test } from 'vitest';
import type { CallOutcome } from '../../src/calls/context.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { traceOrigin, withTracing } from '../../src/observe/tracing.js';
import { listParts } from '../../src/tools/list-parts.js';
import type { Span } from '../../src/util/trace.js';
import { never } from '../support/caller.js';

/** A call has a span, which belongs to the trace that its request names. */

const inMeta = { traceparent: 'parent in _meta', tracestate: 'state in _meta' };
const inHeaders = { traceparent: 'parent in a header', tracestate: 'state in a header' };
const overHttp = (headers: Record<string, string> = {}) => ({ req: new Request('http://127.0.0.1/', { headers }) });

describe('the trace of a request', () => {
  test.each([
    ['in _meta, from a process', { mcpReq: { id: 1, _meta: inMeta } }, inMeta],
    ['in _meta, over HTTP', { mcpReq: { id: 1, _meta: inMeta }, http: overHttp() }, inMeta],
    ['in _meta before headers', { mcpReq: { id: 1, _meta: inMeta }, http: overHttp(inHeaders) }, inMeta],
    ['in headers', { mcpReq: { id: 1 }, http: overHttp(inHeaders) }, inHeaders],
    [
      'in headers, if _meta has no text',
      { mcpReq: { id: 1, _meta: { traceparent: 5 } }, http: overHttp(inHeaders) },
      inHeaders,
    ],
    ['nowhere', { mcpReq: { id: 1 }, http: overHttp() }, {}],
    ['nowhere, from a process', { mcpReq: { id: 1 } }, {}],
  ])('is named %s', (_where, context, { traceparent, tracestate }: Partial<typeof inMeta>) => {
    expect(traceOrigin(context)).toMatchObject({ traceparent, tracestate });
  });

  test('is only linked to over HTTP, where anybody may name one', () => {
    expect(traceOrigin({ mcpReq: { id: 'a' }, http: overHttp() })).toEqual({
      linkOnly: true,
      attributes: { 'jsonrpc.request.id': 'a', 'network.transport': 'tcp' },
    });
    expect(traceOrigin({ mcpReq: { id: 'a' } })).toEqual({
      attributes: { 'jsonrpc.request.id': 'a', 'network.transport': 'pipe' },
    });
  });

  test('has no more than 100 characters of the ID of a request', () => {
    const { attributes } = traceOrigin({ mcpReq: { id: 'x'.repeat(101) } });
    expect(attributes['jsonrpc.request.id']).toBe('x'.repeat(100));
  });
});

const succeeded: CallOutcome = {
  kind: 'succeeded',
  success: { summary: 'Done.', warnings: [], requestIds: {} },
};
const failed: CallOutcome = {
  kind: 'failed',
  failure: { summary: 'Failed.', code: 'Http500', problems: [], next: 'Stop.', requestIds: {} },
};

test.each([
  ['a success', succeeded, undefined],
  ['a failure', failed, 'tool_error'],
])('the span of a call has its tool and its trace, and ends with %s', async (_what, outcome, error) => {
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
  const trace = { ...inMeta, attributes: { 'network.transport': 'pipe' } };
  const context = {
    signal: never,
    client: 'test 1',
    tokens: createConsentTokens('k'.repeat(32), '', () => new Date()),
  };
  const attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'list_parts',
  };
  expect(await traced(listParts, { a: 1 }, { ...context, trace: () => trace })).toBe(outcome);
  await traced(listParts, { a: 2 }, context);
  expect(events).toEqual([
    ['tools/call list_parts', { ...attributes, ...trace.attributes }, trace],
    [{ a: 1 }, true],
    [{}, error],
    ['tools/call list_parts', attributes, {}],
    [{ a: 2 }, true],
    [{}, error],
  ]);
});
