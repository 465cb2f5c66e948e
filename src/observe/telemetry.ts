import { setTimeout as delay } from 'node:timers/promises';
import {
  type Context,
  defaultTextMapGetter,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { CallTool } from '../call-stack.js';
import { outcomeLabel } from '../calls/result-text.js';
import { type Log, reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import type { Attributes, Span, TracedRequest } from '../util/trace.js';

/** W3C Trace Context. */
export interface TraceParent {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Callers over a network must not decide which traces are recorded, so a new trace only links to theirs. */
  readonly linkOnly?: boolean;
}

const flushMs = 3_000;

/**
 * Sends spans to a collector as OTLP. The SDK reads its options from the usual `OTEL_*` variables.
 * Spans are dropped if the queue is full, so that no call waits for a collector.
 */
export function startTelemetry(version: string, log: Log) {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'cloudops-mcp', 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const exporter = withFailureLog(new OTLPTraceExporter(), log);
  const provider = new BasicTracerProvider({
    resource,
    spanLimits: { attributeValueLengthLimit: 1000 },
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const otel = provider.getTracer('cloudops-mcp', version);
  const propagator = new W3CTraceContextPropagator();

  const startSpan = (
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    parent: Context,
    links: readonly Link[] = [],
  ): Span => {
    const span = otel.startSpan(name, { kind, attributes: { ...attributes }, links: [...links] }, parent);
    const contextOfSpan = trace.setSpan(parent, span);
    return {
      child: (childName, childAttributes) => startSpan(childName, SpanKind.CLIENT, childAttributes, contextOfSpan),
      end: (endAttributes, error) => {
        span.setAttributes({ ...endAttributes, 'error.type': error });
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  };

  const tracer = (name: string, attributes: Attributes, { linkOnly = false, ...parent }: TraceParent): Span => {
    const callerContext = propagator.extract(ROOT_CONTEXT, parent, defaultTextMapGetter);
    if (!linkOnly) return startSpan(name, SpanKind.SERVER, attributes, callerContext);
    const context = trace.getSpanContext(callerContext);
    return startSpan(name, SpanKind.SERVER, attributes, ROOT_CONTEXT, context && [{ context }]);
  };

  return {
    tracer,
    /** Gives each call a span by OpenTelemetry's conventions for MCP: `isError` is an error of the tool. */
    traced:
      (callTool: CallTool): CallTool =>
      async (operation, args, context) => {
        const { name } = operation;
        const { tracedRequest } = context.watch ?? {};
        const origin = tracedRequest && traceOrigin(tracedRequest);
        const attributes = {
          'mcp.method.name': 'tools/call',
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': name,
          ...origin?.attributes,
        };
        const span = tracer(`tools/call ${name}`, attributes, origin ?? {});
        const outcome = await callTool(operation, args, { ...context, watch: { ...context.watch, span } });
        span.end({ 'cloudops.outcome': outcomeLabel(outcome) }, outcome.kind === 'failed' ? 'tool_error' : undefined);
        return outcome;
      },
    /** Takes at most `flushMs`. Never rejects. */
    close: async (): Promise<void> => {
      await Promise.race([provider.shutdown().catch(() => undefined), delay(flushMs, undefined, { ref: false })]);
    },
  };
}

/** Logs when the collector starts to fail and when it recovers. */
function withFailureLog(exporter: OTLPTraceExporter, log: Log): SpanExporter {
  let wasOk = true;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        const isOk = error === undefined;
        const hasStatus = error !== undefined && 'code' in error && typeof error.code === 'number';
        const reason = hasStatus ? `HTTP status ${error.code}` : reasonOf(error);
        if (isOk !== wasOk) log(isOk ? 'info' : 'warn', 'telemetry', { ok: isOk, ...(!isOk && { error: reason }) });
        wasOk = isOk;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

/** The caller's span (W3C Trace Context) from `_meta`, or else from the HTTP headers. */
export function traceOrigin({ mcpReq: { id, _meta }, http }: TracedRequest) {
  const isInMeta = textAt(_meta, 'traceparent') !== undefined;
  const textOf = (name: string) => (isInMeta ? textAt(_meta, name) : (http?.req?.headers.get(name) ?? undefined));
  const parent: TraceParent = { traceparent: textOf('traceparent'), tracestate: textOf('tracestate') };
  const attributes = {
    'jsonrpc.request.id': String(id).slice(0, 100),
    'network.transport': http === undefined ? 'pipe' : 'tcp',
  };
  return { ...parent, ...(http !== undefined && { linkOnly: true }), attributes };
}
