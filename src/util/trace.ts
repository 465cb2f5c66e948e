/** What a span says of its work. No argument of a call and no secret is among it. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A stretch of work in a trace. */
export interface Span {
  /** Starts a request to another system within this work. */
  child(name: string, attributes: Attributes): Span;
  /** Ends it. `error` is the type of what went wrong, if anything did. */
  end(attributes: Attributes, error: string | undefined): void;
}

/** The span of somebody else that work belongs to, as W3C Trace Context writes it. */
export interface TraceParent {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Whether the work is a trace of its own that is only linked to that span: callers over a network do not choose what is sampled. */
  readonly linkOnly?: boolean;
}

/** Where a call comes from: attributes of the request, and the span that it belongs to. */
export interface TraceOrigin extends TraceParent {
  readonly attributes: Attributes;
}

/** Starts the span of a request that came in. */
export type Tracer = (name: string, attributes: Attributes, parent: TraceParent) => Span;
