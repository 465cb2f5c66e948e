/** Never secrets or arguments of a call. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

export interface Span {
  child(name: string, attributes: Attributes): Span;
  /** `error` is the type of the error. */
  end(attributes: Attributes, error: string | undefined): void;
}

/** W3C Trace Context. */
export interface TraceParent {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Callers over a network must not decide which traces are recorded. */
  readonly linkOnly?: boolean;
}

export interface TracedRequest {
  readonly mcpReq: { readonly id: string | number; readonly _meta?: unknown };
  readonly http?: { readonly req?: Pick<Request, 'headers'> | undefined } | undefined;
}

export interface TraceOrigin extends TraceParent {
  readonly attributes: Attributes;
}

export type Tracer = (name: string, attributes: Attributes, parent: TraceParent) => Span;
