import type { CallTool } from '../call-stack.js';
import { outcomeLabel } from '../calls/outcome-label.js';
import { textAt } from '../util/objects.js';
import type { TracedRequest, TraceOrigin, Tracer } from '../util/trace.js';

/** Gives each call a span by OpenTelemetry's conventions for MCP: `isError` is an error of the tool. */
export const withTracing =
  (callTool: CallTool, tracer: Tracer): CallTool =>
  async (operation, args, context) => {
    const { name } = operation;
    const trace = context.tracedRequest && traceOrigin(context.tracedRequest);
    const attributes = {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      ...trace?.attributes,
    };
    const span = tracer(`tools/call ${name}`, attributes, trace ?? {});
    const outcome = await callTool(operation, args, { ...context, span });
    span.end({ 'cloudops.outcome': outcomeLabel(outcome) }, outcome.kind === 'failed' ? 'tool_error' : undefined);
    return outcome;
  };

/** The caller's span (W3C Trace Context) from `_meta`, or else from the HTTP headers. */
export function traceOrigin({ mcpReq: { id, _meta }, http }: TracedRequest): TraceOrigin {
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
