/** Never secrets or arguments of a call. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

export interface Span {
  child(name: string, attributes: Attributes): Span;
  end(attributes: Attributes, error: string | undefined): void;
}

export interface TracedRequest {
  readonly mcpReq: { readonly id: string | number; readonly _meta?: unknown };
  readonly http?: { readonly req?: Pick<Request, 'headers'> | undefined } | undefined;
}
