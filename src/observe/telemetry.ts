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
import type { Log } from '../util/log.js';
import type { Attributes, Span, Tracer } from '../util/trace.js';

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
  const exporter = reporting(new OTLPTraceExporter(), log);
  const provider = new BasicTracerProvider({
    resource,
    spanLimits: { attributeValueLengthLimit: 1000 },
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const otel = provider.getTracer('cloudops-mcp', version);
  const propagator = new W3CTraceContextPropagator();

  const start = (
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    parent: Context,
    links: readonly Link[] = [],
  ): Span => {
    const span = otel.startSpan(name, { kind, attributes: { ...attributes }, links: [...links] }, parent);
    const within = trace.setSpan(parent, span);
    return {
      child: (childName, childAttributes) => start(childName, SpanKind.CLIENT, childAttributes, within),
      end: (endAttributes, error) => {
        span.setAttributes({ ...endAttributes, 'error.type': error });
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  };
  const tracer: Tracer = (name, attributes, { linkOnly = false, ...headers }) => {
    const caller = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    if (!linkOnly) return start(name, SpanKind.SERVER, attributes, caller);
    const context = trace.getSpanContext(caller);
    return start(name, SpanKind.SERVER, attributes, ROOT_CONTEXT, context === undefined ? [] : [{ context }]);
  };
  return {
    tracer,
    /** Sends the last spans. Never rejects. */
    close: async (): Promise<void> => {
      await Promise.race([provider.shutdown().catch(() => undefined), delay(flushMs, undefined, { ref: false })]);
    },
  };
}

/** Logs when the collector starts to fail, and when it recovers. */
function reporting(exporter: OTLPTraceExporter, log: Log): SpanExporter {
  let failing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        if (failing !== (error !== undefined))
          log(error === undefined ? 'info' : 'warn', 'telemetry', { ok: error === undefined, error: error?.name });
        failing = error !== undefined;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
