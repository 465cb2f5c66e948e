import { type ServerContext, TRACEPARENT_META_KEY, TRACESTATE_META_KEY } from '@modelcontextprotocol/server';
import type { TraceOrigin } from '../util/trace.js';

/** What is read of a request's context. */
interface Received extends Pick<ServerContext, 'http'> {
  readonly mcpReq: Pick<ServerContext['mcpReq'], 'id' | '_meta'>;
}

/** What a request says of the trace that it belongs to: in `_meta`, or else in its HTTP headers. */
export function traceOrigin({ mcpReq: { id, _meta }, http }: Received): TraceOrigin {
  const headers = http?.req?.headers;
  const [fromMeta, stateFromMeta] = [_meta?.[TRACEPARENT_META_KEY], _meta?.[TRACESTATE_META_KEY]].map((value) =>
    typeof value === 'string' ? value : undefined,
  );
  const parent =
    fromMeta === undefined
      ? { traceparent: headers?.get('traceparent') ?? undefined, tracestate: headers?.get('tracestate') ?? undefined }
      : { traceparent: fromMeta, tracestate: stateFromMeta };
  const attributes = {
    'jsonrpc.request.id': String(id).slice(0, 100),
    'network.transport': http === undefined ? 'pipe' : 'tcp',
  };
  return { ...parent, ...(http !== undefined && { linkOnly: true }), attributes };
}
