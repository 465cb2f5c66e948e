import type { Tracer } from '../util/trace.js';
import type { Caller } from './call-tool.js';

/**
 * Follows calls with a span each, named as OpenTelemetry's conventions for MCP name it. A result that is an error is an error of
 * the tool, though the protocol's answer is none.
 */
export const withTracing =
  (call: Caller, tracer: Tracer): Caller =>
  async (operation, args, options) => {
    const { name } = operation;
    const attributes = {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      ...options.trace?.attributes,
    };
    const span = tracer(`tools/call ${name}`, attributes, options.trace ?? {});
    const result = await call(operation, args, { ...options, span });
    span.end({}, result.ok === false ? 'tool_error' : undefined);
    return result;
  };
