import type { ServerContext } from '@modelcontextprotocol/server';
import { textAt } from '../util/objects.js';
import type { TraceOrigin } from '../util/trace.js';

/** The part of a request's context that is read here. */
interface Received extends Pick<ServerContext, 'http'> {
  readonly mcpReq: Pick<ServerContext['mcpReq'], 'id' | '_meta'>;
}

/** The trace that a request belongs to, by the names of W3C: from `_meta`, or else from its HTTP headers. */
export function traceOrigin({ mcpReq: { id, _meta }, http }: Received): TraceOrigin {
  const headers = http?.req?.headers;
  const traceparent = textAt(_meta, 'traceparent');
  const parent =
    traceparent === undefined
      ? { traceparent: headers?.get('traceparent') ?? undefined, tracestate: headers?.get('tracestate') ?? undefined }
      : { traceparent, tracestate: textAt(_meta, 'tracestate') };
  const attributes = {
    'jsonrpc.request.id': String(id).slice(0, 100),
    'network.transport': http === undefined ? 'pipe' : 'tcp',
  };
  return { ...parent, ...(http !== undefined && { linkOnly: true }), attributes };
}
