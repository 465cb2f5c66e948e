/** Attributes of a span. No argument of a call and no secret is among them. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A span of a trace. */
export interface Span {
  /** Starts a request to another system within this work. */
  child(name: string, attributes: Attributes): Span;
  /** Ends it. `error` is the type of an error, if there was one. */
  end(attributes: Attributes, error: string | undefined): void;
}

/** The caller's span, as W3C Trace Context writes it. */
export interface TraceParent {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** True for a trace of its own that is only linked to that span: callers over a network must not decide what is sampled. */
  readonly linkOnly?: boolean;
}

/** The origin of a call: attributes of the request, and the span that it belongs to. */
export interface TraceOrigin extends TraceParent {
  readonly attributes: Attributes;
}

/** Starts the span of a request that came in. */
export type Tracer = (name: string, attributes: Attributes, parent: TraceParent) => Span;
