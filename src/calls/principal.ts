import type { Operation } from '../tools/define-operation.js';

/** Who calls, where callers are told apart, and what they were granted. */
export interface Principal {
  /** 255 characters at most. */
  readonly name: string;
  readonly scopes: readonly string[];
}

export const readScope = 'cloudops:read';
export const writeScope = 'cloudops:write';
/** Lets its bearer see what other callers did. It allows no operation. */
export const auditScope = 'cloudops:audit';
export const scopes: readonly string[] = [readScope, writeScope, auditScope];

/** The scope that an operation asks of its caller. */
export const scopeOf = ({ effect }: Pick<Operation, 'effect'>) => (effect === 'read' ? readScope : writeScope);

/** The caller whose entries of the journal may be shown; undefined means those of all. */
export const visibleCaller = (principal: Principal | undefined): string | undefined =>
  principal === undefined || principal.scopes.includes(auditScope) ? undefined : principal.name;
