import type { CallContext } from '../calls/context.js';
import type { Change, OfCaller } from './change.js';

/** This file tells whose changes a caller may see. */

/** True if a change is of another caller than the viewer. Always false without a viewer, who may see the changes of all callers. */
export const isOfAnother = ({ caller }: Pick<Change, 'caller'>, viewer: string | undefined): boolean =>
  viewer !== undefined && caller !== viewer;

/** Selects the changes of a call's caller. Callers that are not authenticated have no name, and share their changes. */
export const ofCaller = ({ principal }: Pick<CallContext, 'principal'>): OfCaller => ({
  caller: principal?.name ?? null,
});

/** Selects the changes of a call's caller or, without a name, of its client. */
export const ofCallerOrClient = ({ principal, client }: Pick<CallContext, 'principal' | 'client'>): OfCaller =>
  principal === undefined ? { caller: null, client } : { caller: principal.name };
