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
import { type Log, reasonOf } from '../util/log.js';
import type { Attributes, Span, Tracer } from '../util/trace.js';
import { withTracing } from './tracing.js';

/** Time limit for sending the last spans, in milliseconds. */
const flushMs = 3_000;

/**
 * Sends spans to a collector as OTLP over HTTP with JSON. The SDK reads the address and its options from the usual `OTEL_*` variables.
 * Spans wait in a bounded queue and are dropped if the queue is full, so that no call waits for a collector.
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

  /** Starts a span of any kind below `parent`. */
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

  const tracer: Tracer = (name, attributes, { traceparent, tracestate, linkOnly = false }) => {
    const callerContext = propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter);
    if (!linkOnly) return startSpan(name, SpanKind.SERVER, attributes, callerContext);

    // The call of a caller over a network begins a new trace, which only links to the caller's span, because such a caller must not decide
    // whether the call is recorded.
    const context = trace.getSpanContext(callerContext);
    const links = context === undefined ? [] : [{ context }];
    return startSpan(name, SpanKind.SERVER, attributes, ROOT_CONTEXT, links);
  };

  return {
    tracer,
    /** Wraps a function that carries out calls, so that each call has a span. */
    traced: (callTool: CallTool) => withTracing(callTool, tracer),
    /** Sends the last spans, for at most `flushMs`. Never rejects. */
    close: async (): Promise<void> => {
      await Promise.race([provider.shutdown().catch(() => undefined), delay(flushMs, undefined, { ref: false })]);
    },
  };
}

/** The HTTP status of the collector's answer, or the code of the connection's error, such as ECONNRESET. */
function failureOf(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined;
  return 'code' in error && typeof error.code === 'number' ? `HTTP status ${error.code}` : reasonOf(error);
}

/** Wraps an exporter. Logs when the collector starts to fail and when it recovers, but no failure in between. */
function withFailureLog(exporter: OTLPTraceExporter, log: Log): SpanExporter {
  let wasOk = true;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const isOk = result.error === undefined;
        if (isOk !== wasOk) log(isOk ? 'info' : 'warn', 'telemetry', { ok: isOk, error: failureOf(result.error) });
        wasOk = isOk;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
