import { describe, expect, test } from 'vitest';
import { traceOrigin } from '../../src/observe/tracing.js';

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
