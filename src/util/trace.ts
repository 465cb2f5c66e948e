/** Attributes of a span. No argument of a call and no secret is among them. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A span of a trace. */
export interface Span {
  /** Starts a request to another system within this work. */
  child(name: string, attributes: Attributes): Span;
  /** Ends the span. `error` is the type of an error. */
  end(attributes: Attributes, error: string | undefined): void;
}

/** The caller's span, as W3C Trace Context writes it. */
export interface TraceParent {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** True for a separate trace with a link to the caller's span, because callers over a network must not decide about sampling. */
  readonly linkOnly?: boolean;
}

/** The origin of a call: attributes of the request, and the span that it belongs to. */
export interface TraceOrigin extends TraceParent {
  readonly attributes: Attributes;
}

/** Starts the span of a request that came in. */
export type Tracer = (name: string, attributes: Attributes, parent: TraceParent) => Span;
