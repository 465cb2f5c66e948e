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

  const tracer: Tracer = (name, attributes, { traceparent, tracestate, linkOnly = false }) => {
    const callerContext = propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter);
    if (!linkOnly) return startSpan(name, SpanKind.SERVER, attributes, callerContext);

    // Callers over a network must not decide whether a call is recorded, so the new trace only links to theirs.
    const context = trace.getSpanContext(callerContext);
    const links = context === undefined ? [] : [{ context }];
    return startSpan(name, SpanKind.SERVER, attributes, ROOT_CONTEXT, links);
  };

  return {
    tracer,
    traced: (callTool: CallTool) => withTracing(callTool, tracer),
    /** Takes at most `flushMs`. Never rejects. */
    close: async (): Promise<void> => {
      await Promise.race([provider.shutdown().catch(() => undefined), delay(flushMs, undefined, { ref: false })]);
    },
  };
}

function failureOf(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined;
  return 'code' in error && typeof error.code === 'number' ? `HTTP status ${error.code}` : reasonOf(error);
}

/** Logs when the collector starts to fail and when it recovers. */
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
