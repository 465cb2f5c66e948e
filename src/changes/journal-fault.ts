import { ShownError } from '../util/log.js';
import type { SafeText } from '../util/safe-text.js';

/**
 * Why a store refuses changes.
 *
 * Of a database: `standby`: it is read-only. `rights`: the role lacks rights. `clocks`: the clocks differ. `tables`: tables are missing, and
 * this role cannot create them. `no tables yet`: a server creates them when it starts.
 *
 * Of a file: `replaced`: another file took its place. `not a journal`: it is something else. `network`: its file system is not safe.
 * `driver`: this Node.js has no SQLite. `locked`, `full`, `readOnly` and `damaged` come from SQLite.
 *
 * Of both: `newer`: a newer version made the tables.
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
