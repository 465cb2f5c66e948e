import { ShownError } from '../util/log.js';
import type { SafeText } from '../util/safe-text.js';

/**
 * Why a database refuses changes. `standby`: it is read-only. `rights`: the role lacks rights. `clocks`: the clocks differ.
 * `tables`: tables are missing, and this role cannot create them. `no tables yet`: a server creates them when it starts.
 */
export type FaultKind = 'standby' | 'rights' | 'clocks' | 'tables' | 'no tables yet';

/** A fault of a journal's database. Commands give advice by its kind. */
export class JournalFault extends ShownError {
  readonly kind: FaultKind;
  constructor(kind: FaultKind, reason: SafeText) {
    super(reason);
    this.kind = kind;
  }
}
