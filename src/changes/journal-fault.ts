import { ShownError } from '../util/log.js';
import type { SafeText } from '../util/safe-text.js';

/**
 * Why a store refuses changes. `tables`: tables are missing, and this role cannot create them. `no tables yet`: a
 * server creates them. `replaced`: another file took its place. `newer`: a newer version made the tables.
 */
export type FaultKind =
  | 'standby'
  | 'rights'
  | 'clocks'
  | 'tables'
  | 'no tables yet'
  | 'replaced'
  | 'not a journal'
  | 'network'
  | 'driver'
  | 'locked'
  | 'full'
  | 'readOnly'
  | 'damaged'
  | 'newer';

/** A fault of a store. Commands give advice by its kind. */
export class JournalFault extends ShownError {
  readonly kind: FaultKind;
  constructor(kind: FaultKind, reason: SafeText) {
    super(reason);
    this.kind = kind;
  }
}
