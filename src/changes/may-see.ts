import type { CallContext } from '../calls/context.js';
import type { Change, OfCaller } from './change.js';

/** This file tells whose changes a caller may see. */

/** True if a change is of another caller than the viewer. */
export const isOfAnother = ({ caller }: Pick<Change, 'caller'>, viewer: string | undefined): boolean =>
  viewer !== undefined && caller !== viewer;

/** Selects the changes of a call's caller. Callers without a name share their changes. */
export const ofCaller = ({ principal }: Pick<CallContext, 'principal'>): OfCaller => ({
  caller: principal?.name ?? null,
});

/** Selects the changes of a call's caller or, without a name, of its client. */
export const ofCallerOrClient = ({ principal, client }: Pick<CallContext, 'principal' | 'client'>): OfCaller =>
  principal === undefined ? { caller: null, client } : { caller: principal.name };
