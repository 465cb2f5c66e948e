import type { CallTool } from '../calls/context.js';
import type { Tracer } from '../util/trace.js';

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
