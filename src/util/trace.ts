/** Attributes of a span. They never contain secrets or arguments of a call. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A span of a trace, which stands for a piece of work. */
export interface Span {
  /** Starts a span inside this span, for a request to another system. */
  child(name: string, attributes: Attributes): Span;
  /** Ends the span. If the work failed, `error` is the type of the error. */
  end(attributes: Attributes, error: string | undefined): void;
}

/** The caller's span, in the format of W3C Trace Context. */
export interface TraceParent {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** True to start a new trace that only links to the caller's span. Callers over a network must not decide which traces are recorded. */
  readonly linkOnly?: boolean;
}

/** The fields of a request's context that its trace needs. */
export interface TracedRequest {
  readonly mcpReq: { readonly id: string | number; readonly _meta?: unknown };
  readonly http?: { readonly req?: Pick<Request, 'headers'> | undefined } | undefined;
}

/** The origin of a call: the caller's span, and attributes of the request that carried the call. */
export interface TraceOrigin extends TraceParent {
  readonly attributes: Attributes;
}

/** Starts the span of an incoming request. */
export type Tracer = (name: string, attributes: Attributes, parent: TraceParent) => Span;
