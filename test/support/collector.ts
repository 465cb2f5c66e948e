import * as z from 'zod';
import type { CapturingServer } from './http-server.js';

/** The body of a request to a collector, as OTLP in JSON. */
const spansSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.unknown(),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              traceState: z.string().optional(),
              links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).optional(),
              name: z.string(),
              kind: z.int(),
              attributes: z.array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) })),
              status: z.object({ code: z.int() }),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** The spans that a collector was sent, with attributes as a record. */
export const spansOf = ({ requests }: CapturingServer) =>
  requests.flatMap(({ body }) =>
    spansSchema
      .parse(JSON.parse(body))
      .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .map(({ attributes, ...span }) => ({
        ...span,
        attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
      })),
  );
