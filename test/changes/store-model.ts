import type { EndState, State } from '../../src/changes/change.js';

/** A change as the model knows it. Times are milliseconds by the clock of the store. */
interface ModelRow {
  readonly id: string;
  readonly requestKey: string;
  readonly repeats: string | boolean;
  readonly asks: boolean;
  readonly made: number;
  readonly expires: number;
  state: State;
  process?: string;
  decided?: number;
  begun?: number;
  ended?: number;
}

const minute = 60_000;
const duplicateMs = 10 * minute;
const leaseMs = minute;
const keptMs = 60 * minute;
const mostAsking = 20;
const mostUnasked = 100;
const budget = { mostChanges: 3, windowMs: 60 * minute };

/** What a store of one caller must do, in as few words as possible. `now` is the time of the store, which nobody can set. */
export function createModel() {
  const rows = new Map<string, ModelRow>();
  const leases = new Map<string, number>();
  let now = 0;
  const all = () => [...rows.values()];
  const waits = ({ state, expires }: ModelRow) => state === 'waiting' && expires > now;
  const wasSent = ({ state }: ModelRow) => ['begun', 'accepted', 'partly', 'unknown'].includes(state);
  /** Later changes first. Of changes of the same time, the order is that of their IDs. */
  const byBegin = (a: ModelRow, b: ModelRow) => (b.begun ?? 0) - (a.begun ?? 0) || (a.id < b.id ? 1 : -1);
  const renew = (process: string) => leases.set(process, now + leaseMs);
  const stop = (row: ModelRow, kind: 'duplicate' | 'budgetSpent') => {
    Object.assign(row, { state: 'not sent', ended: now });
    return kind;
  };

  const decide = (id: string, process: string, state: 'approved' | 'declined' | 'withdrawn') => {
    const row = rows.get(id);
    if (row === undefined) return 'gone';
    if (!waits(row)) return 'late';
    Object.assign(row, { state, process, decided: now });
    if (state === 'approved') renew(process);
    return 'decided';
  };

  return {
    budget,
    states: () => Object.fromEntries(all().map(({ id, state }) => [id, state])),
    waiting: () =>
      all()
        .filter(waits)
        .map(({ id }) => id),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
    add: (
      row: Pick<ModelRow, 'id' | 'requestKey' | 'repeats' | 'asks'>,
      {
        process,
        lifetimeMs,
        approved,
        replaces,
      }: { process: string; lifetimeMs: number; approved: boolean; replaces: string },
    ) => {
      const asking = all().filter((other) => waits(other) && other.asks && other.id !== replaces);
      if (row.asks && asking.length >= mostAsking) return 'tooMany';
      rows.set(row.id, { ...row, state: 'waiting', made: now, expires: now + lifetimeMs });
      const unasked = all().filter(({ state, asks }) => state === 'waiting' && !asks);
      const excess = row.asks ? [] : unasked.sort((a, b) => b.made - a.made).slice(mostUnasked);
      for (const { id } of excess) rows.delete(id);
      const replaced = replaces !== row.id && decide(replaces, process, 'withdrawn') === 'decided';
      if (approved) decide(row.id, process, 'approved');
      return replaced ? 'replaced' : 'added';
    },
    decide,
    begin: (id: string, process: string) => {
      const row = rows.get(id);
      if (row?.state !== 'approved' || row.process !== process) return 'notApproved';
      const [earlier] = all()
        .filter((other) => other.id !== id && other.requestKey === row.requestKey && wasSent(other))
        .filter(({ state, ended = 0 }) => state === 'begun' || ended > now - duplicateMs)
        .sort(byBegin);
      if (earlier !== undefined && row.repeats !== true && row.repeats !== earlier.id) return stop(row, 'duplicate');
      const spent = all().filter((other) => wasSent(other) && (other.begun ?? 0) > now - budget.windowMs);
      if (spent.length >= budget.mostChanges) return stop(row, 'budgetSpent');
      Object.assign(row, { state: 'begun', begun: now });
      renew(process);
      return 'begun';
    },
    end: (id: string, state: EndState) => {
      const row = rows.get(id);
      const from: Record<EndState, readonly State[]> = {
        accepted: ['begun', 'unknown'],
        partly: ['begun', 'unknown'],
        rejected: ['begun', 'unknown'],
        'not sent': ['approved', 'begun'],
        unknown: ['begun'],
      };
      if (row !== undefined && from[state].includes(row.state)) Object.assign(row, { state, ended: now });
    },
    recover: (process: string) => {
      const isGone = (row: ModelRow) => row.process !== process && (leases.get(row.process ?? '') ?? 0) <= now;
      const isLeft = ({ decided = 0 }: ModelRow) => decided < now - keptMs;
      const inState = (state: State) => all().filter((row) => row.state === state);
      const begun = inState('begun').filter(isGone);
      const approved = inState('approved').filter((row) => isGone(row) || isLeft(row));
      for (const row of begun) Object.assign(row, { state: 'unknown', ended: now });
      for (const row of approved) Object.assign(row, { state: 'not sent', ended: now });
    },
    erase: () => {
      for (const { id, state, expires } of all()) if (state === 'waiting' && expires < now - keptMs) rows.delete(id);
    },
  };
}
