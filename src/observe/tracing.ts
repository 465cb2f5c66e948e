import type { ServerContext } from '@modelcontextprotocol/server';
import type { CallTool } from '../calls/context.js';
import { textAt } from '../util/objects.js';
import type { TraceOrigin, Tracer } from '../util/trace.js';

/**
 * Follows calls with a span each, named as OpenTelemetry's conventions for MCP name it. A result that is an error is an error of
 * the tool, though the protocol's answer is none.
 */
export const withTracing =
  (callTool: CallTool, tracer: Tracer): CallTool =>
  async (operation, args, context) => {
    const { name } = operation;
    const trace = context.trace?.();
    const attributes = {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      ...trace?.attributes,
    };
    const span = tracer(`tools/call ${name}`, attributes, trace ?? {});
    const outcome = await callTool(operation, args, { ...context, span });
    span.end({}, outcome.kind === 'failed' ? 'tool_error' : undefined);
    return outcome;
  };

/** What is read of a request's context. */
interface Received extends Pick<ServerContext, 'http'> {
  readonly mcpReq: Pick<ServerContext['mcpReq'], 'id' | '_meta'>;
}

/** What a request says of the trace that it belongs to: in `_meta`, or else in its HTTP headers, both under the names of W3C. */
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
