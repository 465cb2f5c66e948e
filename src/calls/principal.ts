import type { Operation } from '../tools/define-operation.js';

/** Who calls, where callers are told apart, and what they were granted. */
export interface Principal {
  readonly name: string;
  readonly scopes: readonly string[];
}

export const readScope = 'cloudops:read';
export const writeScope = 'cloudops:write';

/** The scope that an operation asks of its caller. */
export const scopeOf = ({ effect }: Pick<Operation, 'effect'>) => (effect === 'read' ? readScope : writeScope);
